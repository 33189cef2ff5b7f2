#!/usr/bin/env bash
# scripts/bench-cpu: a run on tiny data, and the rows of its table.
. "$(dirname "$0")/lib.sh"

bench=$here/../../scripts/bench-cpu

# row PAIRS: what the table says of these CPU times, before and after.
row() {
  python3 -c '
import importlib.machinery, importlib.util, json, sys
loader = importlib.machinery.SourceFileLoader("bench_cpu", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_cpu", loader))
loader.exec_module(module)
print(module.row("stat", json.loads(sys.argv[2])))' "$bench" "$1"
}

check_equal "a row has medians and ratios" "| stat | 2.00 | 3.00 | 1.500 | 1.00 to 2.00 |" "$(row '[[1, 2], [2, 3], [3, 3]]')"
check_equal "no time before" "| stat | 0.02 | 0.01 | too short to measure | - |" "$(row '[[0.02, 0.01], [0, 0.01], [0.02, 0.01]]')"
check_equal "no time after" "| stat | 0.02 | 0.01 | too short to measure | - |" "$(row '[[0.02, 0.01], [0.02, 0.0], [0.02, 0.01]]')"

# So little that the clock shows nothing for most of it.
noise 1 100000 >"$scratch/data"
mkdir "$scratch/work"
tiny_run() {
  "$bench" "$scratch/work" --before="$tools" --after="$tools" --data="$scratch/data" \
    --pairs=1 --files=1 --clones=1 --reads=1 --restores=1 >"$scratch/table"
}
check "a run with one file" tiny_run
check_equal "all paths have a row" "create stat list clone rename unlink write random reads restore" \
  "$(awk -F ' *[|] *' 'NR > 2 {print $2}' "$scratch/table" | paste -sd ' ')"
check_equal "no volume stays" "" "$(ls -A "$scratch/work")"
finish
