#!/usr/bin/env bash
# What docs/threat-model.md says of users, roots and volumes, where no other test stands behind it. Root only: it needs two users.
. "$(dirname "$0")/lib.sh"

is_root || { skip "trust" "need root"; exit 0; }
available_bytes() { df --output=avail --block-size=1 "$mnt" | tail -n 1; }

# The volume has a disk of its own, so that df shows what this test writes and nothing else.
mkdir "$scratch/disk"
mount -t tmpfs -o size=512m,mode=755 tmpfs "$scratch/disk"
volume=$scratch/disk/volume
new_volume
mkdir -m 1777 "$mnt/shared"
noise 7 8000000 >"$mnt/shared/mine"
chmod 600 "$mnt/shared/mine"
commit

check_equal "all parts of a volume are for its owner alone" "" "$(find "$volume" ! -type l -perm /077)"
check_refused "another user cannot read a file that he has no permission for" 1 'denied' as_nobody cat "$mnt/shared/mine"
chmod 755 "$volume" # else the folder alone keeps others out
check_refused "another user cannot ask the daemon" 1 'denied' as_nobody python3 - "$volume/control.sock" <<'PY'
import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
PY
chmod 700 "$volume"

# Whoever sees the mount may ask how the volume is, through the mount itself.
lend_to_nobody
stat_as_nobody() { "${user[@]}" dedupfs-stat "$@" 2>&1; }
check "another user who sees the mount gets its statistics" grep -q "^Holds   1 file" <<<"$(stat_as_nobody "$mnt")"
check_equal "the very ones that root gets" "$(stat_of stored_bytes)" \
  "$(stat_as_nobody --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["stored_bytes"])')"
check_refused "but not what single files take" 1 'denied' stat_as_nobody --file "$mnt/shared/mine"
check "another user may watch the mount" grep -q "^Stage of ingest" <<<"$("${user[@]}" dedupfs-top --once "$mnt" 2>&1)"
check "another user may see how the volume has grown" grep -q "^taken_unix_seconds,disk_bytes" <<<"$("${user[@]}" dedupfs-stat --history --csv "$mnt" 2>&1)"
check "and how far the scrub is" grep -q "^Last scrub: never" <<<"$("${user[@]}" dedupfs-scrub --status "$mnt" 2>&1)"
check "and the reclaim" grep -q "^Last reclaim: none" <<<"$("${user[@]}" dedupfs-gc --status "$mnt" 2>&1)"
check_refused "but may start none" 2 'root and' "${user[@]}" dedupfs-gc "$mnt"
check "many who ask at once hold up nobody" python3 - "$mnt" <<'PY'
import os, sys, threading, time
mount = sys.argv[1]
counts = {"answers": 0, "refusals": 0}
def ask():
    for _ in range(200):
        try:
            os.getxattr(mount, "dedupfs.statistics")
            counts["answers"] += 1
        except OSError:
            counts["refusals"] += 1
threads = [threading.Thread(target=ask) for _ in range(32)]
for thread in threads: thread.start()
began = time.monotonic()
os.listdir(mount)
assert time.monotonic() - began < 5
for thread in threads: thread.join()
assert counts["answers"] > 0, counts
PY

# What is not promised: that it stays hidden whether content exists.
noise 7 8000000 >"$scratch/guess"
before=$(available_bytes)
as_nobody sh -c "cat >'$mnt/shared/guess'" <"$scratch/guess"
commit
check "another user can find out by df that content was there already" test $((before - $(available_bytes))) -lt 4000000

# A volume may come from somebody else.
cp /usr/bin/id "$mnt/shared/id"
chmod 4755 "$mnt/shared/id"
mknod -m 666 "$mnt/shared/zero" c 1 5
check_equal "a set-user-id program gives nobody anything" 65534 "$(as_nobody "$mnt/shared/id" -u)"
check_refused "a device does not open" 1 'denied' head -c 1 "$mnt/shared/zero"
remount noallow_other
check_refused "where the mount lets nobody else in, nobody else gets anything" 1 'denied' stat_as_nobody "$mnt"
unmount_volume

# Groups of a caller come from /proc. Where it hides processes from the daemon, nobody keeps a bit by a group that is not known.
with_group() { setpriv --reuid=65534 --regid=65534 --groups=12345 "$@"; }
# set_ids FILE: its mode before and after a change of its content by a member of its group, and then by root.
set_ids() {
  local modes=()
  install -o 65534 -g 12345 -m 2664 /dev/null "$1" && modes+=("$(stat -c %a "$1")")
  with_group fallocate -l 4096 "$1" && modes+=("$(stat -c %a "$1")")
  chmod 2664 "$1"
  fallocate -l 8192 "$1" && modes+=("$(stat -c %a "$1")")
  echo "${modes[*]}"
}
mount_volume allow_other
check_equal "a member of the group, and root, keep set-group-id" "2664 2664 2664" "$(set_ids "$mnt/seen")"
unmount_volume
hidden() { # OPTIONS OF /proc
  # shellcheck disable=SC2016 # expanded there
  unshare -m --propagation private bash -c 'mount -t proc -o "$1" proc /proc && mount_volume allow_other && set_ids "$mnt/hidden" && unmount_volume' \
    - "$1"
}
export -f mount_volume unmount_volume set_ids with_group
export mnt volume daemon_log
check_equal "hidepid=2 hides nothing from a daemon in the group root" "2664 2664 2664" "$(hidden hidepid=2)"
check_equal "where it does a member loses it, without an error" "2664 664 2664" "$(hidden hidepid=2,gid=54321)"
finish
