#!/usr/bin/env bash
# rocksdb-tools 7.8.3-2 (Debian 12), `ldb from RocksDB 7.8.3`.
#
# A command of ldb that writes wants the lock of the database. If another process has it, ldb refuses as it should, with exit status 1:
#   Failed: IO error: While lock file: db/LOCK: Resource temporarily unavailable
# But before it asks for the lock, it has renamed the log of the process that has the database open, LOG, to LOG.old.TIME, and begun a
# new one. That process goes on in the renamed file. Commands that only read take no lock and rename nothing.
. "$(dirname "$0")/lib.sh"

unpack rocksdb-tools=7.8.3-2 librocksdb7.8=7.8.3-2 libgflags2.2 libsnappy1v5
cd "$work"
ldb=$root/usr/bin/ldb
expect version "ldb from RocksDB 7.8.3" "$("$ldb" --version)"
"$ldb" --db=db --create_if_missing put key value >/dev/null
logs() { (cd db && printf '%s\n' LOG*) | sed -E 's/[0-9]{10,}/TIME/' | xargs; }
expect "logs before" LOG "$(logs)"

# Holds the lock as a process does that has the database open: a lock of fcntl on all of LOCK.
coproc holder { python3 -c '
import fcntl, sys
lock = open("db/LOCK", "r+")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()'; }
read -r -t 30 -u "${holder[0]}" said || cannot "no lock"
expect "the lock" locked "$said"

expect "a read without the lock" value "$("$ldb" --db=db get key)"
expect "logs after it" LOG "$(logs)"
status=0
"$ldb" --db=db put key other >said 2>&1 || status=$?
expect "exit status of a write" 1 "$status"
expect "its message" "Failed: IO error: While lock file: db/LOCK: Resource temporarily unavailable" "$(cat said)"
expect "logs after the refusal" "LOG LOG.old.TIME" "$(logs)"
