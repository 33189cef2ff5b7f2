#!/usr/bin/env bash
# A bounded share of the crash campaign (scripts/crash-campaign): power cuts and kills under a live mount.
. "$(dirname "$0")/lib.sh"
. "$here/crashes.sh"

cuts=20
kills=20
seconds=130
# Under sanitizers all takes several times as long. The crash points are in those builds; under AddressSanitizer each is reached
# once, under ThreadSanitizer some.
if has_sanitizer asan; then
  cuts=4
  kills=62
  patience=100
  seconds=200
elif has_sanitizer tsan; then
  cuts=4
  kills=16
  patience=100
  seconds=80
fi

points_of() { PYTHONPATH=$here/../crash python3 -c "from live import points; $1"; }
check_equal "every crash point of the code is known to the campaign" "" "$(points_of "
print(*sorted(points.in_sources('$here/../../src') ^ points.POINTS.keys()))")"

require_means_of_crashes
crashes "the crash campaign" "$cuts" "$kills" "$seconds"
finish
