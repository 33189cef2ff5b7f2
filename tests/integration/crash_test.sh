#!/usr/bin/env bash
# A bounded share of the crash campaign (scripts/crash-campaign): power cuts and kills under a live mount.
. "$(dirname "$0")/lib.sh"

campaign=$here/../crash/live_campaign.py
cuts=20
kills=20
patience=20
seconds=130
# Under sanitizers all takes several times as long. The crash points are in those builds; under AddressSanitizer each is reached
# once, under ThreadSanitizer some.
if grep -q __asan_init "$tools/dedupfs"; then
  cuts=4
  kills=62
  patience=100
  seconds=200
elif grep -q __tsan_init "$tools/dedupfs"; then
  cuts=4
  kills=16
  patience=100
  seconds=80
fi

points_of() { PYTHONPATH=$here/../crash python3 -c "from live import points; $1"; }
check_equal "every crash point of the code is known to the campaign" "" "$(points_of "
print(*sorted(points.in_sources('$here/../../src') ^ points.POINTS.keys()))")"

# Containers often have no loop devices, and no power can be cut there. Where they are, as on the machines of CI, it is tested.
missing=
is_root || missing="root"
[ -e /dev/loop-control ] || missing="/dev/loop-control"
if [ -n "$missing" ]; then
  skip "power cuts and kills under a mount" "$missing is missing"
  finish
fi
if ! losetup --find >/dev/null 2>&1; then
  if [ "${CI:-}" = true ]; then
    fail "power cuts and kills under a mount" "/dev/loop-control is there, but no loop device can be had: $(losetup --find 2>&1)"
  else
    skip "power cuts and kills under a mount" "no loop device can be had: $(losetup --find 2>&1)"
  fi
  finish
fi

seed=$(date +%s)
evidence=${TMPDIR:-/tmp}/dedupfs-crash-evidence
# crashes NAME CUTS KILLS SECONDS [OPTION...]
crashes() {
  local name=$1 cuts=$2 kills=$3 seconds=$4 output=$scratch/campaign status=0
  shift 4
  TMPDIR=$scratch python3 "$campaign" --cuts "$cuts" --kills "$kills" --seed "$seed" --tools "$tools" --patience "$patience" \
    --seconds "$seconds" --evidence "$evidence" "$@" >"$output" 2>&1 || status=$?
  cat "$output"
  if [ "$status" -eq 0 ]; then pass "$name: $(tail -n 1 "$output")"; else fail "$name" "seed $seed: $(tail -n 1 "$output")"; fi
}
crashes "the crash campaign" "$cuts" "$kills" "$seconds"
# The builds with crash points are slow, and go without.
[ "$cuts" -lt 20 ] || crashes "the crash campaign, encrypted" 5 5 30 --encrypted
finish
