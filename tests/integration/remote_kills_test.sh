#!/usr/bin/env bash
# A bounded share of tests/crash/remote_campaign.py: the daemon of a volume with a bucket, the store, and whoever takes over are killed at
# random; a second machine finds all that was acknowledged.
. "$(dirname "$0")/lib.sh"

seed=$(date +%s)
# survives NAME SECONDS [OPTION...]
survives() {
  local name=$1 seconds=$2 output=$scratch/campaign status=0
  shift 2
  /usr/bin/python3 -B "$here/../crash/remote_campaign.py" --tools "$tools" --seed "$seed" --cycles 1000 --seconds "$seconds" "$@" >"$output" 2>&1 || status=$?
  cat "$output"
  if [ "$status" -eq 0 ]; then pass "$name: $(tail -n 1 "$output")"; else fail "$name" "seed $seed: $(tail -n 2 "$output" | tr '\n' ' ')"; fi
  check "$name: with a takeover" grep -q ' [1-9][0-9]* takeovers,' "$output"
}
if is_root; then
  survives "kills beside a bucket" 30
  survives "kills beside a bucket, encrypted" 15 --encrypted
else
  skip "kills beside a bucket" "root is missing"
fi
finish
