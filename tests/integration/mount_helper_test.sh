#!/usr/bin/env bash
# mount(8), umount(8) and fstab lines work through the helpers, with all standard options. Root only: /sbin gets links, for a while.
. "$(dirname "$0")/lib.sh"

is_root || { skip "mount helpers" "need root"; exit 0; }

links=()
for pair in mount.dedupfs:dedupfs mount.fuse.dedupfs:dedupfs umount.dedupfs:umount.dedupfs umount.fuse.dedupfs:umount.dedupfs \
  mkfs.dedupfs:mkfs.dedupfs fsck.dedupfs:fsck.dedupfs; do
  link=/sbin/${pair%%:*}
  [ -e "$link" ] || { ln -s "$(realpath "$tools/${pair#*:}")" "$link" && links+=("$link"); }
done
remove_links() { [ ${#links[@]} -eq 0 ] || rm -f "${links[@]}"; }
trap 'clean_up; remove_links' EXIT

# own_options: those of dedupfs that the daemon was started with.
own_options() {
  python3 - "$volume/control.sock" <<'PY'
import json, socket, sys
with socket.socket(socket.AF_UNIX) as daemon:
    daemon.connect(sys.argv[1])
    daemon.sendall(b'{"command": "info"}\n')
    print(json.loads(daemon.makefile().readline())["options"])
PY
}
mounted_with() { findmnt -no OPTIONS "$mnt" | tr , '\n' | grep -qx -- "$1"; }

# It calls umount.dedupfs, by the record in libmount's table.
plain_umount() { umount "$mnt" && no_daemon; }
records() { grep -c -- "TARGET=$mnt " /run/mount/utab; }

mkdir "$mnt"
check "mkfs -t dedupfs" mkfs -t dedupfs "$volume"
check "mount -t dedupfs" mount -t dedupfs "$volume" "$mnt"
check "it is mounted when the command returns" is_mounted "$mnt"
echo data >"$mnt/file"
check "umount returns when the daemon has ended" plain_umount
check_equal "libmount's table has no record of it any more" 0 "$(records)"
mount -t dedupfs "$volume" "$mnt"
check_equal "after umount all is there" data "$(cat "$mnt/file")"
exec {held}<"$mnt/file"
check_refused "umount says why it fails" 32 'busy' umount "$mnt"
check_equal "a mount that stays keeps its record" 1 "$(records)"
exec {held}<&-
kill -9 "$(daemon_pid)"
umount -i -l "$mnt"
echo "SRC=$volume TARGET=$mnt ROOT=/ OPTS=helper=dedupfs" >>/run/mount/utab
mount -t dedupfs "$volume" "$mnt"
check_equal "a record that is left over goes with the next mount" 1 "$(records)"
kill "$(daemon_pid)"
check "and with a daemon that unmounts by itself" wait_until 30 eval 'no_daemon && [ "$(records)" -eq 0 ]'
check "umount.dedupfs as umount(8) calls a helper" eval 'mount -t dedupfs "$volume" "$mnt" && umount.dedupfs "$mnt" -f -v && no_daemon'

# The kernel takes the lesser of what is set and what it is told in the answer to its first question.
mount_volume readahead=2m
check_equal "read-ahead is what the option says" 2048 "$(cat "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb")"
umount.dedupfs "$mnt"
check "a mount is not busy in the moment in which it appears" python3 - "$volume" "$mnt" <<'PY'
import subprocess, sys
volume, place = sys.argv[1:]
for _ in range(30):
    daemon = subprocess.Popen(["dedupfs", volume, place, "-f"], stderr=subprocess.DEVNULL)
    while not any(line.split()[1] == place for line in open("/proc/mounts")):
        assert daemon.poll() is None, daemon.returncode
    subprocess.run(["umount.dedupfs", place], check=True)
    assert daemon.wait() == 0, daemon.returncode
PY

check "mount accepts the standard options" mount -t dedupfs "$volume" "$mnt" \
  -o rw,nosuid,nodev,noexec,relatime,nodiratime,nofail,_netdev,noauto,nouser,async,allow_other,x-test.anything=1
for option in nosuid nodev noexec relatime; do check "$option is honoured" mounted_with "$option"; done
cp /bin/true "$mnt/true"
check_refused "noexec keeps programs from running" 126 'denied' "$mnt/true"
plain_umount

check "own options" mount -t dedupfs "$volume" "$mnt" -o cache=64m,index_mem=64m,commit=1
check "with commit=1 changes are durable soon" eval 'echo soon >"$mnt/soon" && sleep 3 && crash && mount_volume && grep -q soon "$mnt/soon"'
plain_umount
check "lists of options are joined, and the last of two equal ones wins" eval \
  'dedupfs "$volume" "$mnt" -o cache=64m,commit=7 -o cache=128m && [ "$(own_options)" = cache=128m,commit=7 ]'
plain_umount
check_refused "an unknown option is named" 1 'no_such_option' dedupfs "$volume" "$mnt" -o no_such_option=1

check "mount -o ro" mount -t dedupfs "$volume" "$mnt" -o ro
check "ro is shown" mounted_with ro
check_refused "ro refuses writes" 1 'read-only' touch "$mnt/new"
check "ro reads" grep -q data "$mnt/file"
check_refused "remount,rw of a mount that began read-only is refused with the remedy" 1 'unmount it, then mount it with rw' mount -o remount,rw "$mnt"
kill -9 "$(daemon_pid)"
check_refused "a remount without a daemon is refused with the remedy" 1 "does not answer.*Unmount it" /sbin/mount.dedupfs "$volume" "$mnt" -o remount,rw
umount -l "$mnt"

mount -t dedupfs "$volume" "$mnt"
check "remount,ro" mount -o remount,ro "$mnt"
check_refused "after remount,ro writes are refused" 1 'read-only' touch "$mnt/new"
check "remount,rw" mount -o remount,rw "$mnt"
check "after remount,rw writes work" touch "$mnt/new"
check "mount -o noatime by remount" mount -o remount,noatime "$mnt"
plain_umount

# access_time_after_read: of a file that the page cache has, after it was opened and read once more.
access_time_after_read() { cat "$mnt/file" >/dev/null && stat -c %x "$mnt/file"; }
mount -t dedupfs "$volume" "$mnt" -o strictatime
first=$(access_time_after_read)
check "with strictatime each open and read changes the access time" [ "$first" != "$(access_time_after_read)" ]
plain_umount

# suid and dev
cp "$(command -v id)" "$scratch/id"
prepare_set_ids() { cp "$scratch/id" "$mnt/id" && chmod 4755 "$mnt/id" && { [ -e "$mnt/null" ] || mknod -m 666 "$mnt/null" c 1 3; }; }
user_of_id() { as_nobody "$mnt/id" -u; }
mount -t dedupfs "$volume" "$mnt"
prepare_set_ids
check_equal "without suid a set-user-id program runs as its caller" 65534 "$(user_of_id)"
check_refused "without dev a device cannot be opened" 1 'denied' cat "$mnt/null"
plain_umount
check "-o suid,dev" dedupfs "$volume" "$mnt" -o suid,dev
check_equal "is honoured for programs" 0 "$(user_of_id)"
check "and for devices" cat "$mnt/null"
plain_umount
check "mount -o allow_suid,allow_dev" mount -t dedupfs "$volume" "$mnt" -o allow_suid,allow_dev
check_equal "with suid it runs as its owner" 0 "$(user_of_id)"
check "with dev a device can be opened" cat "$mnt/null"
check "a remount" mount -o remount,noatime "$mnt"
check_equal "leaves suid" 0 "$(user_of_id)"
check "and dev" cat "$mnt/null"
check "remount,nosuid" mount -o remount,nosuid "$mnt"
check_equal "takes suid away" 65534 "$(user_of_id)"
check "but not dev" cat "$mnt/null"
plain_umount

# What the next mount waits for: while the volume cannot be opened, somebody answers at the control socket.
check "the control socket stays until the volume is closed" python3 - "$volume" "$mnt" <<'PY'
import fcntl, socket, subprocess, sys
volume, place = sys.argv[1:]
for _ in range(8):
    subprocess.run(["dedupfs", volume, place], check=True)
    with open(place + "/file", "ab") as file:
        file.write(b"x" * 3000000)
    subprocess.run(["umount", "-i", place], check=True)  # without the helper, which waits
    with open(volume + "/index/LOCK", "rb") as lock:
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(volume + "/control.sock")
            except OSError:
                break
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
PY

echo "$volume $mnt dedupfs cache=64m,nofail,noauto,allow_other 0 2" >"$scratch/fstab"
check "a line of fstab" mount --fstab "$scratch/fstab" "$mnt"
check "umount what fstab mounted" plain_umount
check "an option of the command line overrides that of fstab" eval 'mount --fstab "$scratch/fstab" -o cache=128m "$mnt" && [ "$(own_options)" = cache=128m ]'
check "so does one of a remount" mount --fstab "$scratch/fstab" -o remount,cache=128m "$mnt"
plain_umount
check "the type fuse.dedupfs works as well" mount -t fuse.dedupfs "$volume" "$mnt"
plain_umount
check "fsck -t dedupfs" fsck -t dedupfs "$volume" -- -n
finish
