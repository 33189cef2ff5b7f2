#!/usr/bin/env bash
# scripts/bench-peers on tiny data: its tables, what it does with a tool that fails, and what it leaves behind.
. "$(dirname "$0")/lib.sh"

peers=("$here/../../scripts/bench-peers" "--build=$(dirname "$(realpath "$tools")")" "--work=$scratch/work" "$scratch/data")
cell() { awk -F ' *[|] *' -v tool="$1" -v column="$2" '$2 == tool {print $column}' "$scratch/table"; }

export HOME=$scratch/home
mkdir -p "$HOME" "$scratch/work" "$scratch/rivals" "$scratch/data/set" "$scratch/data/other"
noise 1 1000000 >"$scratch/data/set/v 1"
cat "$scratch/data/set/v 1" <(noise 2 1000) >"$scratch/data/set/v 2"
echo short >"$scratch/data/other/v1"
touch "$scratch/data/set/.done"

check "dedupfs and the patch chain, one set" eval \
  '"${peers[@]}" --sets=set --tools=dedupfs,chain --json="$scratch/json" >"$scratch/table" 2>"$scratch/log"'
check "one table, whose heading counts the versions" grep -qx 'set: 2 versions, 2 MB' "$scratch/table"
check "all figures of all tools are there" python3 -c '
import json, sys
for record in json.load(open(sys.argv[1])):
    assert record["error"] is None, record
    assert all(value is not None for value in record.values() if value is not record["error"]), record
    assert record["logical_bytes"] == 2001000 and record["versions"] == 2, record
    assert 1 <= record["stored_mb"] < 2, record' "$scratch/json"
check_equal "stored, in the table" 1.0 "$(cell 'patch chain (`zstd -3 --patch-from`)' 3)"

# A rival whose second version comes back with another last byte, found in --rivals.
cat >"$scratch/rivals/casync" <<'SH'
#!/bin/sh
case $1 in
  --version) echo casync 99.5 ;;
  make) cp "$5" "$4" ;;
  extract) cp "$3" "$4"; case $3 in *"v 2"*) printf x | dd of="$4" bs=1 seek=1000999 conv=notrunc status=none ;; esac ;;
esac
SH
chmod +x "$scratch/rivals/casync"
check_refused "a tool that restores wrong bytes makes the exit status 1" 1 'casync zstd failed: v 2 was not restored as it was' \
  eval '"${peers[@]}" --tools=casync,chain --rivals="$scratch/rivals" | tee "$scratch/table"; (exit "${PIPESTATUS[0]}")'
check "its row says so" grep -q '^| casync zstd | \*\*failed\*\* |' "$scratch/table"
check "the other tools are measured all the same" grep -q '^| patch chain .* | 1.0 |' "$scratch/table"
check "and so are the other sets, where it does well" grep -Eq '^[|] casync zstd [|] 0\.0 [|] ' "$scratch/table"
check "the table says which program it was" grep -q 'casync 99.5' "$scratch/table"

# A copy that takes forever, when the mount is up.
cat >"$scratch/rivals/cp" <<SH
#!/bin/sh
touch "$scratch/copying"
exec sleep 600
SH
chmod +x "$scratch/rivals/cp"
"${peers[@]}" --tools=dedupfs --rivals="$scratch/rivals" >/dev/null 2>&1 &
bench=$!
check "a run comes to copy" wait_until 20 test -e "$scratch/copying"
kill "$bench"
wait "$bench"
check_equal "SIGTERM ends it" 143 $?
check_equal "no mount stays" "" "$(grep -F "$scratch" /proc/mounts)"
check_equal "nothing stays in the work folder" "" "$(ls -A "$scratch/work")"
check_equal "nothing is written to the home folder" "" "$(ls -A "$HOME")"

check_refused "an unknown tool" 2 'unknown tools: tarsnap' "${peers[@]}" --tools=tarsnap
check_refused "an unknown data set" 2 'no data set missing' "${peers[@]}" --sets=missing
if ! command -v kopia >/dev/null; then
  check_refused "a tool that is asked for and not there" 1 'Left out: kopia \(kopia is not installed' "${peers[@]}" --tools=kopia
fi
finish
