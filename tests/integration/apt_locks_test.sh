#!/usr/bin/env bash
# scripts/setup on a machine where another program holds apt's locks. Needs root; apt works on folders of the test.
. "$(dirname "$0")/lib.sh"
set +e
. "$here/../../scripts/lib/common.sh"
. "$here/../../scripts/lib/apt.sh"
set +e

is_root || { skip "apt" "need root"; exit 0; }

mkdir -p "$scratch"/apt/{lists,cache/archives,parts}/partial
cat >"$scratch/apt.conf" <<CONF
Dir::State::Lists "$scratch/apt/lists";
Dir::Cache "$scratch/apt/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$scratch/apt/parts";
APT::Update::Post-Invoke-Success {};
CONF
export APT_CONFIG=$scratch/apt.conf

# hold_lock: another program that has the lock of the package lists until it is told to let go of it.
hold_lock() {
  mkfifo "$scratch/let-go"
  python3 - "$scratch/apt/lists/lock" "$scratch/let-go" <<'PY' &
import fcntl, sys
with open(sys.argv[1], "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    open(sys.argv[2]).close()
PY
  wait_until 60 is_locked
}
is_locked() { ! apt-get update >/dev/null 2>&1; }
let_go() { : >"$scratch/let-go"; }
says_it_waits() { grep -q 'another program holds a lock of apt' "$scratch/output"; }

check "apt-get works on the folders of the test" apt_get update
hold_lock
(APT_LOCK_SECONDS=1; apt_get update) >"$scratch/output" 2>&1
check_equal "a lock that is never freed is an error in the end" 100 $?
check "it names the lock" grep -q "$scratch/apt/lists/lock" "$scratch/output"

(APT_LOCK_SECONDS=60; apt_get update) >"$scratch/output" 2>&1 &
waiting=$!
check "while the lock is held it says that it waits" wait_until 20 says_it_waits
let_go
wait "$waiting"
check_equal "it goes on when the lock is free" 0 $?
check_refused "another error of apt ends it at once" 100 'no_such_package' apt_get --simulate install no_such_package
finish
