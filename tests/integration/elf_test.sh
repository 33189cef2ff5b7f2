#!/usr/bin/env bash
# The programs are built hardened, which their ELF files show.
. "$(dirname "$0")/lib.sh"

has() { readelf -W "$1" "$program" 2>/dev/null | grep -E -- "$2" >/dev/null; } # not grep -q, which would end readelf by SIGPIPE
# machine_code BYTES: how often they are in the program.
machine_code() { python3 -c 'import sys; print(open(sys.argv[1], "rb").read().count(bytes.fromhex(sys.argv[2])))' "$program" "$1"; }

for program in "$tools"/*dedupfs*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  name=${program##*/}
  check "$name is position independent" has -h 'Type: +DYN'
  check "$name: it is marked as a program, not a library" has -d 'FLAGS_1.*PIE'
  check "$name has tables that become read-only" has -l 'GNU_RELRO'
  check "$name: all of them, since it is bound when it starts" has -d 'BIND_NOW|FLAGS_1.*NOW'
  check "$name has no executable stack" has -l 'GNU_STACK.* RW '
  check "$name has stack protectors" has --dyn-syms '__stack_chk_fail'
  check "$name calls checked functions of the C library (_FORTIFY_SOURCE)" has --dyn-syms '_chk@GLIBC'
done

program=$tools/dedupfs
if [ "$(uname -m)" = x86_64 ]; then
  check "functions begin with endbr64 (-fcf-protection)" test "$(machine_code f30f1efa)" -gt 1000
  check "large stack frames are probed page by page (-fstack-clash-protection)" test "$(machine_code 48830c2400)" -gt 0
else
  skip "code of x86-64" "this is $(uname -m)"
fi
finish
