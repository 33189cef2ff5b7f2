# Stages of checks that count what they find, for .ci/run and scripts/check-release; to be sourced after common.sh.
# A stage is a function stage_NAME. It calls `check` and `suite`, which note what passed and failed. Nothing is left out for lack of time.
# shellcheck shell=bash

exec </dev/null
export CI=true DEBIAN_FRONTEND=noninteractive
# Where there is a ccache, its objects serve each clone, whatever the folder is called.
export CCACHE_BASEDIR=${project_root:?} CCACHE_NOHASHDIR=true CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime,time_macros

# new_logs FOLDER: where each stage leaves what it printed, and the counts of this run.
new_logs() {
  logs=$1
  rm -rf "$logs"
  mkdir -p "$logs"
  export logs
}

# counted NAME PASSED FAILED [SKIPPED]: in a file, since stages run in several processes.
counted() { echo "$2 $3 ${4:-0}" >"$logs/$1.counts"; }

# check NAME COMMAND...: one pass or one failure.
check() {
  local name=$1 begin=$SECONDS
  shift
  if "$@" >"$logs/$name.log" 2>&1; then
    counted "$name" 1 0
    printf 'ok      %s (%d s)\n' "$name" $((SECONDS - begin))
  else
    counted "$name" 0 1
    tail -n 60 "$logs/$name.log"
    printf 'FAILED  %s (%d s), see %s\n' "$name" $((SECONDS - begin)) "$logs/$name.log"
  fi
}

# strictly FUNCTION [ARGUMENT...]: a shell of its own, since errexit does not hold in a function whose result is looked at.
strictly() { bash -euo pipefail -c '"$@"' bash "$@"; }

# suite NAME COMMAND...: a command whose last line is "N passed, N failed[, N skipped]", which counts. A run without one is a failure.
suite() {
  local name=$1 begin=$SECONDS status=0 counts
  shift
  "$@" >"$logs/$name.log" 2>&1 || status=$?
  counts=$(tail -n 1 "$logs/$name.log")
  if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    local passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[4]:-0}
    [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    counted "$name" "$passed" "$failed" "$skipped"
  else
    counted "$name" 0 1
    status=1
  fi
  # What failed, if it says so, and what came last.
  if [ "$status" -ne 0 ]; then
    { grep -E '^(FAIL|FAILED|\[  FAILED) |Sanitizer|error:|ERROR:' "$logs/$name.log" || true; } | head -n 60
    tail -n 150 "$logs/$name.log"
  fi
  printf '%-7s %s: %s (%d s)\n' "$([ "$status" -eq 0 ] && echo ok || echo FAILED)" "$name" "$counts" $((SECONDS - begin))
}

# run_stage NAME: and notes how long it took.
run_stage() {
  local begin=$SECONDS
  declare -F "stage_$1" >/dev/null || die "unknown stage $1 (see --help)"
  say "$1"
  "stage_$1"
  printf '%s %d\n' "$1" $((SECONDS - begin)) >>"$logs/stage-times"
}

# sum_of COUNTS_FILE...: "N passed, N failed[, N skipped]"; fails if something failed or nothing passed.
sum_of() {
  cat "$@" | awk '{ passed += $1; failed += $2; skipped += $3 }
    END {
      print passed + 0 " passed, " failed + 0 " failed" (skipped ? ", " skipped " skipped" : "")
      exit failed || !passed
    }'
}
