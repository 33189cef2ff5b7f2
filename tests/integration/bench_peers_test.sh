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

check "dedupfs and the patch chain, one set, two rounds" eval \
  '"${peers[@]}" --sets=set --tools=dedupfs,chain --rounds=2 --json="$scratch/json" >"$scratch/table" 2>"$scratch/log"'
check "a heading that counts the versions" grep -Fqx '**set: 2 versions, 2 MB, 2 rounds**' "$scratch/table"
check "all figures of all tools are there" python3 -c '
import json, sys
records = json.load(open(sys.argv[1]))["records"]
for record in records:
    assert record["error"] is None, record
    assert [step["bytes"] for step in record["versions"]] == [1000000, 1001000], record
    for step in [*record["versions"], record["restore"], record["again"]]:
        assert step["seconds"] > 0 and step["cpu_seconds"] > 0, record
    assert 1e6 <= record["stored_bytes"] < 2e6 and record["peak_bytes"] > 1e6, record
order = [(record["round"], record["tool"]) for record in records]
assert order == [(0, "chain"), (0, "dedupfs"), (1, "dedupfs"), (1, "chain")], order' "$scratch/json"
check_equal "stored, in the table" 1.0 "$(cell 'patch chain (`zstd -3 --patch-from`)' 3 | head -n 1)"

printf '%s\n' above '<!-- bench-peers: tables begin -->' old '<!-- bench-peers: tables end -->' >"$scratch/page.md"
again=("$here/../../scripts/bench-peers" "--from=$scratch/json")
check "the same tables again, on a page, and a plot" eval \
  '"${again[@]}" --into="$scratch/page.md" --plot="$scratch/plot.svg" >"$scratch/again"'
check "they are the same" cmp "$scratch/table" "$scratch/again"
check "the page has them, and the plot" eval 'grep -Fq "**set: 2 versions" "$scratch/page.md" && grep -Fq "](plot.svg)" "$scratch/page.md"'
check "what was between its marks is gone" eval '! grep -qx old "$scratch/page.md"'
check "the plot is one" grep -q '<svg ' "$scratch/plot.svg"
check_refused "a page without marks" 2 'no single place' "${again[@]}" --into="$scratch/again"

# A dedupfs-gc that knows how to settle: it leaves the mount as it is, and is asked for when all versions are in.
cat >"$scratch/rivals/dedupfs-gc" <<SH
#!/bin/sh
[ "\$1" = --help ] && exec echo '  --settle'
[ "\$1 \$2" = '--settle --wait' ] && ls "\$3" >"$scratch/settled"
SH
chmod +x "$scratch/rivals/dedupfs-gc"
check "a dedupfs that can settle" eval \
  '"${peers[@]}" --sets=set --tools=dedupfs --versions=1 --rivals="$scratch/rivals" >"$scratch/table" 2>"$scratch/log"'
check "it has columns for that" grep -q '| settled MB |.*| settling, CPU s/GB |' "$scratch/table"
check_equal "it settled with the mount up, and no more than --versions" "v 1" "$(cat "$scratch/settled")"
rm "$scratch/rivals/dedupfs-gc"

# A daemon that takes a third of a second of CPU time when it starts.
cat >"$scratch/rivals/dedupfs" <<SH
#!/usr/bin/python3
import os, sys, time
while "-f" in sys.argv and time.process_time() < 0.33:
    pass
os.execv("$(realpath "$tools")/dedupfs", sys.argv)
SH
chmod +x "$scratch/rivals/dedupfs"
check "a daemon that takes long to start" eval '"${peers[@]}" --sets=set --tools=dedupfs --rivals="$scratch/rivals" \
  --json="$scratch/json" >"$scratch/table" 2>"$scratch/log"'
check "its CPU time belongs to the first version, and to the restore by a new mount" python3 -c '
import json, sys
record, = json.load(open(sys.argv[1]))["records"]
first, second = record["versions"]
assert first["cpu_seconds"] >= 0.33 and record["restore"]["cpu_seconds"] >= 0.33, record
assert second["cpu_seconds"] < 0.33, record' "$scratch/json"
rm "$scratch/rivals/dedupfs"

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
