#!/usr/bin/env bash
# Nobody reads old bytes from the kernel's page cache, however a file was changed.
. "$(dirname "$0")/lib.sh"

new_volume
check_program=${DEDUPFS_HELPERS:-$here/../../build/tests/integration}/page-cache-check
"$check_program" "$mnt" || failures=$((failures + 1))

# --- changes that come by the control socket
noise old 300000 >"$scratch/old"
noise new 300000 >"$scratch/new"
for state in old new; do
  cp "$scratch/$state" "$mnt/file"
  dedupfs-snapshot create "$mnt" "$state" >>"$daemon_log" 2>&1
done
while sleep 0.005; do cat "$mnt/file"; done >/dev/null &
reader=$!
roll_back_to() { dedupfs-snapshot rollback "$mnt" "$1" >>"$daemon_log" 2>&1; } # refused while the reader has it open
for state in old new old new; do
  wait_until 20 roll_back_to "$state" || fail "rollback beside a reader" "never found the file closed"
  check "a rollback to '$state' drops what readers had cached" cmp "$scratch/$state" "$mnt/file"
done
kill "$reader"
wait "$reader" 2>/dev/null

check_refused "a name that is not there yet" 1 "No such file" cat "$mnt/clone"
dedupfs-clone "$mnt/file" "$mnt/clone" >>"$daemon_log" 2>&1
check "a clone is there at once, under a name that was looked up before" cmp "$scratch/new" "$mnt/clone"

check "the volume is sound afterwards" eval 'unmount_volume && fsck.dedupfs -n --verify-data "$volume"'
finish
