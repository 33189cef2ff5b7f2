# shellcheck shell=bash disable=SC2154
# Power cuts and kills under a live mount, for the tests that are a share of the crash campaign (scripts/crash-campaign). Comes after lib.sh.

campaign=$here/../crash/live_campaign.py
patience=20
evidence=${TMPDIR:-/tmp}/dedupfs-crash-evidence

# has_sanitizer asan|tsan
has_sanitizer() { grep -q "__$1_init" "$tools/dedupfs"; }

# Ends the test where no power can be cut. Containers often have no loop devices. Where they are, as on the machines of CI, it is tested.
require_means_of_crashes() {
  local missing=
  is_root || missing="root"
  [ -e /dev/loop-control ] || missing="/dev/loop-control"
  if [ -n "$missing" ]; then
    skip "power cuts and kills under a mount" "$missing is missing"
    finish
  fi
  losetup --find >/dev/null 2>&1 && return
  if [ "${CI:-}" = true ]; then
    fail "power cuts and kills under a mount" "/dev/loop-control is there, but no loop device can be had: $(losetup --find 2>&1)"
  else
    skip "power cuts and kills under a mount" "no loop device can be had: $(losetup --find 2>&1)"
  fi
  finish
}

# crashes NAME CUTS KILLS SECONDS [OPTION...]
crashes() {
  local name=$1 cuts=$2 kills=$3 seconds=$4 output=$scratch/campaign status=0 seed
  shift 4
  seed=$(date +%s)
  TMPDIR=$scratch python3 "$campaign" --cuts "$cuts" --kills "$kills" --seed "$seed" --tools "$tools" --patience "$patience" \
    --seconds "$seconds" --evidence "$evidence" "$@" >"$output" 2>&1 || status=$?
  cat "$output"
  if [ "$status" -eq 0 ]; then pass "$name: $(tail -n 1 "$output")"; else fail "$name" "seed $seed: $(tail -n 1 "$output")"; fi
}
