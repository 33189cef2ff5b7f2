#!/usr/bin/env bash
# scripts/bench-remote on tiny data: its tables, what it compares, and what it leaves behind.
. "$(dirname "$0")/lib.sh"

export DEDUPFS_TOOLS=$tools # not the programs that lib.sh puts in front
bench=("$here/../../scripts/bench-remote" "$scratch/work" "$scratch/v 1" "$scratch/v 2")
# rows HEADING: the rows of the table below it.
rows() { awk -v heading="**$1**" 'index($0, heading) == 1 {there = 1; next} /^[*][*]/ {there = 0} there && /^[|]/' "$scratch/tables" | tail -n +3; }
# column TABLE ROW NUMBER
column() { rows "$1" | awk -F ' *[|] *' -v row="$2" -v column="$3" '$3 == row {print $column}'; }

mkdir "$scratch/work"
noise 1 1000000 >"$scratch/v 1"
near_duplicate "$scratch/v 1" 100 90000 >"$scratch/v 2"

check "a run" eval '"${bench[@]}" --delays 2 --lags "60 0" --bandwidth 500 >"$scratch/tables" 2>"$scratch/log"'
check "it prints its command" grep -q '^`scripts/bench-remote ' "$scratch/tables"
check_equal "plain transfers" 1 "$(rows "The store, by curl" | wc -l)"
check_equal "three volumes take the versions" "local bucket, remote_lag=60 bucket, remote_lag=0" \
  "$(rows Ingest | awk -F ' *[|] *' '{print $3}' | paste -sd ' ')"
check_equal "what was uploaded is what the bucket has" 1.00x "$(column Shipping "bucket, remote_lag=0" 11)"
check_equal "a push of nothing puts nothing" 0 "$(column "What has not changed" "push, mounted: the next" 5)"
check_equal "a clone reads everything once" 1.00x "$(column Restore '`dedupfs-remote clone`' 12)"
check_equal "each version, what has not changed, and a restore" "version 1,version 2,nothing new,unmount,restore of the newest" \
  "$(rows "Beside restic and rclone" | awk -F ' *[|] *' '$4 == "dedupfs" {print $3}' | paste -sd ,)"
for peer in restic rclone; do
  ! command -v "$peer" >/dev/null || check_equal "$peer does the same" 4 "$(rows "Beside restic and rclone" | grep -c "| $peer |")"
done
check_equal "nothing stays in the work folder" "" "$(ls -A "$scratch/work")"
check_equal "no mount stays" "" "$(grep -F "$scratch" /proc/mounts)"

# A cp that damages what it copies from the bucket.
mkdir "$scratch/bin"
cat >"$scratch/bin/cp" <<'SH'
#!/bin/sh
/bin/cp "$@" || exit
case $* in */restored) printf x | dd of="$3/v 2" bs=1 seek=999999 conv=notrunc status=none ;; esac
SH
chmod +x "$scratch/bin/cp"
check_refused "wrong bytes are found" 1 'v 2 is not equal to' eval 'PATH=$scratch/bin:$PATH "${bench[@]}" --delays 0 --no-peers'
check_equal "and nothing stays" "" "$(ls -A "$scratch/work"; grep -F "$scratch" /proc/mounts)"
rm "$scratch/bin/cp"

"${bench[@]}" --delays 300 --keep >/dev/null 2>&1 &
bench_process=$!
check "a run comes to a mount" wait_until 20 grep -qF "$scratch/work" /proc/mounts
kill "$bench_process"
wait "$bench_process"
check_equal "SIGTERM ends it" 143 $?
check_equal "no mount stays then" "" "$(grep -F "$scratch" /proc/mounts)"
check "--keep keeps the requests" eval 'ls "$scratch"/work/bench-remote.*/requests-1-300'

check_refused "a folder that is not there" 2 'is no folder' "${bench[0]}" "$scratch/missing" "$scratch/v 1"
check_refused "a version that is not there" 2 'there is no .*missing' "${bench[0]}" "$scratch/work" "$scratch/missing"
finish
