#!/usr/bin/env bash
# System calls on the mount behave as on a local disk; and what they left is there after a remount.
. "$(dirname "$0")/lib.sh"

new_volume
pid=$(daemon_pid)
mkdir "$mnt/checks"
chmod 755 "$mnt/checks"
timeout 300 python3 "$here/syscall_check.py" "$mnt/checks" "$pid" || failures=$((failures + 1))
check "the daemon is the one that was started" test "$(daemon_pid)" = "$pid"
check "the volume is sound afterwards" eval 'unmount_volume && fsck.dedupfs -n --verify-data "$volume"'
finish
