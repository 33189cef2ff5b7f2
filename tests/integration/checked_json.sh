#!/usr/bin/env bash
# Runs the program of the name that this is called by, of DEDUPFS_TOOLS. What it prints with --json is checked against docs/schemas;
# what is wrong goes to the end of the file DEDUPFS_JSON_FINDINGS. lib.sh puts links to this before the programs.
program=$DEDUPFS_TOOLS/${0##*/}
[[ " $* " == *" --json "* ]] || exec "$program" "$@"

output=$(mktemp) || exit 125
trap 'rm -f "$output"' EXIT
"$program" "$@" >"$output"
status=$?
cat "$output"
if ! findings=$(python3 -B "$DEDUPFS_JSON_CONTRACT" "$output" 2>&1); then
  printf '%s %s: %s\n' "${0##*/}" "$*" "$findings" >>"$DEDUPFS_JSON_FINDINGS"
fi
exit "$status"
