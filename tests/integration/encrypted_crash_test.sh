#!/usr/bin/env bash
# A bounded share of the crash campaign on encrypted volumes. Where the programs have crash points: at those that no plain volume has,
# also of dedupfs-key.
. "$(dirname "$0")/lib.sh"
. "$here/crashes.sh"

require_means_of_crashes
if grep -q DEDUPFS_CRASH_AT "$tools/dedupfs"; then
  kills=30 # half of them at crash points, so at each
  ! has_sanitizer tsan || kills=10
  patience=100
  crashes "crash points of encrypted volumes" 1 "$kills" 200 --encrypted --points encrypted
else
  crashes "the crash campaign, encrypted" 5 5 30 --encrypted
fi
finish
