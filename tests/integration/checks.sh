# Checks that print one line each, and count failures. To be sourced.
# shellcheck shell=bash
failures=0

pass() { echo "PASS $1"; }
skip() { echo "SKIP $1: $2"; }
fail() {
  echo "FAIL $1: $2"
  failures=$((failures + 1))
}

# said_by COMMAND...: what it says goes to $output. Through a file: at a pipe one would wait for all that inherited it, such as the
# symboliser that ThreadSanitizer starts in a daemon.
said_by() {
  local said status=0
  said=$(mktemp)
  ("$@") >"$said" 2>&1 || status=$?
  output=$(<"$said")
  rm -f "$said"
  return "$status"
}

# check NAME COMMAND...: passes when the command succeeds.
check() {
  local name=$1 output
  shift
  if said_by "$@"; then
    pass "$name"
  else
    fail "$name" "$* gave $?: $(tail -n 3 <<<"$output" | tr '\n' ' ')"
  fi
}

# check_equal NAME EXPECTED ACTUAL
check_equal() {
  if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "expected '$2', got '$3'"; fi
}

# check_refused NAME EXIT_STATUS PATTERN COMMAND...: passes when the command ends with that status and its message matches.
check_refused() {
  local name=$1 expected=$2 pattern=$3 output status=0
  shift 3
  said_by "$@" || status=$?
  if [ "$status" -ne "$expected" ]; then
    fail "$name" "expected exit status $expected, got $status: $output"
  elif ! grep -Eiq -- "$pattern" <<<"$output"; then
    fail "$name" "the message does not match /$pattern/: $output"
  else
    pass "$name"
  fi
}

# wait_until SECONDS COMMAND...: succeeds as soon as the command does.
wait_until() {
  local tries=$(($1 * 10))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $((tries -= 1)) -gt 0 ] || return 1
    sleep 0.1
  done
}
