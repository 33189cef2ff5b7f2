#!/usr/bin/env bash
# Root works on a volume whose folder belongs to another user: it is refused unless root says so, and whatever that user does to the folder
# meanwhile, nothing outside of it is touched. What answers at the control socket, or does not, holds up nobody for ever.
. "$(dirname "$0")/lib.sh"

is_root || { skip "a volume of another user" "needs root"; finish; }
lend_to_nobody
mkdir "$scratch/home" "$scratch/elsewhere" "$mnt"
chown 65534:65534 "$scratch/home"
chmod 700 "$scratch/elsewhere"
volume=$scratch/home/volume

# Whose a volume is.
check "the user makes a volume" "${user[@]}" mkfs.dedupfs "$volume"
foreign='belongs to user 65534.*foreign'
check_refused "mount refuses a volume of another user" 32 "$foreign" dedupfs "$volume" "$mnt"
for mode in -n -a -y; do
  check_refused "fsck.dedupfs $mode refuses it" 8 "$foreign" fsck.dedupfs "$mode" "$volume"
done
check_refused "fsck.dedupfs --rebuild-features refuses it" 8 "$foreign" fsck.dedupfs --rebuild-features "$volume"
check_refused "dedupfs-stat refuses it" 1 "$foreign" dedupfs-stat "$volume"
check_refused "dedupfs-gc refuses it" 2 "$foreign" dedupfs-gc --wait "$volume"
check_refused "dedupfs-snapshot refuses it" 2 "$foreign" dedupfs-snapshot list "$volume"
"${user[@]}" mkdir "$scratch/home/empty"
check_refused "mkfs.dedupfs refuses a folder of another user" 8 "$foreign" mkfs.dedupfs "$scratch/home/empty"
check "mkfs.dedupfs --foreign makes one there" mkfs.dedupfs --foreign "$scratch/home/empty"
check "dedupfs-snapshot --foreign lists" dedupfs-snapshot list --foreign "$volume"
check "a dry run" dedupfs-snapshot create --dry-run --foreign "$volume" first
check_equal "who only reads leaves no file of root's there" "" "$(find "$volume" -user root)"
check "fsck.dedupfs --foreign" fsck.dedupfs -y --foreign "$volume"
check "dedupfs-stat --foreign" dedupfs-stat --foreign "$volume"
check "dedupfs-gc --foreign" dedupfs-gc --wait --foreign "$volume"
check "dedupfs-snapshot --foreign" dedupfs-snapshot create --foreign "$volume" first

own=$scratch/own
mkfs.dedupfs "$own" >/dev/null
chmod 777 "$own/containers"
check_refused "mount refuses a part that everybody can write to" 32 'containers can be written by everybody' dedupfs "$own" "$mnt"
chmod 770 "$own/containers" && chgrp 100 "$own/containers"
check_refused "mount refuses a part that a group can write to" 32 'containers can be written by group 100' dedupfs "$own" "$mnt"
chmod 700 "$own/containers" && chown 65534 "$own/index/CURRENT"
check_refused "mount refuses a file of another user" 32 'index/CURRENT belongs to user 65534' dedupfs "$own" "$mnt"
chown 0 "$own/index/CURRENT"
check "mount takes one that is root's alone" dedupfs "$own" "$mnt"
check "it is unmounted" umount.dedupfs "$mnt"

# Links in the place of folders, while it is mounted.
files_of() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); }
noise 1 20000000 >"$scratch/noise"
check "mount -o foreign" mount_volume foreign,checkpoint=1
cp "$scratch/noise" "$mnt/gone" && sync "$mnt/gone"
wait_until 20 compgen -G "$volume/checkpoints/*.checkpoint"
mkdir "$scratch/elsewhere/containers" "$scratch/elsewhere/checkpoints"
for container in "$volume"/containers/*; do echo "of another volume" >"$scratch/elsewhere/containers/${container##*/}"; done
before=$(files_of "$scratch/elsewhere")
for part in containers checkpoints; do
  "${user[@]}" mv "$volume/$part" "$volume/moved-$part"
  "${user[@]}" ln -s "$scratch/elsewhere/$part" "$volume/$part"
done
newest_checkpoint() { find "$volume/moved-checkpoints" -name '*.checkpoint' | sort | tail -n 1; }
# shellcheck disable=SC2317 # called by wait_until
has_newer_checkpoint() { [ "$(newest_checkpoint)" != "$last" ]; }
last=$(newest_checkpoint)
rm "$mnt/gone"
cp "$scratch/noise" "$mnt/new" && echo more >>"$mnt/new" && sync "$mnt/new"
check "checkpoints go on where the folder is now" wait_until 30 has_newer_checkpoint
check "a reclaim works beside it" dedupfs-gc --wait "$mnt"
check "what was written can be read" cmp -n 20000000 "$scratch/noise" "$mnt/new"
check "the control socket answers" dedupfs-stat "$mnt"
check "it is unmounted, links or not" umount.dedupfs "$mnt"
check_equal "nothing elsewhere was touched" "$before" "$(files_of "$scratch/elsewhere")"
check_refused "a link in place of a folder is refused" 32 'containers is not a folder' dedupfs "$volume" "$mnt" -o foreign
check_refused "fsck.dedupfs -y refuses it, too" 4 'containers is not a folder' fsck.dedupfs -y --foreign "$volume"
for part in containers checkpoints; do rm "$volume/$part" && mv "$volume/moved-$part" "$volume/$part"; done
check "with the folders back it is whole" fsck.dedupfs -n --foreign --verify-data "$volume"

# Links that come and go while fsck removes what an interrupted repair left.
mkdir "$scratch/elsewhere/000001.sst"
before=$(find "$scratch/elsewhere" | sort)
"${user[@]}" python3 - "$volume" "$scratch/elsewhere" <<'PY' &
import ctypes, os, sys
volume, elsewhere = sys.argv[1:]
libc = ctypes.CDLL(None)
os.symlink(elsewhere, volume + "/link")
while os.path.isdir(volume):
    try: os.makedirs(volume + "/index.repair/000001.sst", exist_ok=True)
    except OSError: pass
    libc.renameat2(-100, (volume + "/link").encode(), -100, (volume + "/index.repair").encode(), 2)
PY
swapper=$!
for _ in 1 2 3; do fsck.dedupfs -y --foreign "$volume" >/dev/null 2>&1; done
kill "$swapper" && wait "$swapper" 2>/dev/null
check_equal "fsck.dedupfs -y removes nothing elsewhere" "$before" "$(find "$scratch/elsewhere" | sort)"
rm -rf "$volume/link" "$volume/index.repair"
check "the volume is whole" fsck.dedupfs -y --foreign "$volume"

# Somebody else at the control socket.
mount_volume foreign
mv "$volume/control.sock" "$scratch/home/true.sock"
"${user[@]}" python3 - "$volume/control.sock" <<'PY' &
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(8)
time.sleep(600)
PY
fake=$!
wait_until 60 test -S "$volume/control.sock"
check_refused "umount.dedupfs does not ask a process of another user" 0 'process [0-9]+ of user 65534 serves.*no request was sent' timeout 60 umount.dedupfs "$mnt"
check "it is unmounted" eval "! is_mounted '$mnt'"
check "and its daemon has ended" wait_until 20 no_daemon
kill "$fake" && wait "$fake" 2>/dev/null
rm -f "$volume/control.sock"

# A daemon that hangs.
mount_volume foreign
kill -STOP "$(daemon_pid)"
check_refused "umount.dedupfs gives up on a daemon that does not answer" 32 'stays mounted.*does not answer' timeout 60 umount.dedupfs --timeout 3 "$mnt"
check "it is mounted as before" is_mounted "$mnt"
check_refused "it says what it waits for" 32 'waiting for the daemon, process [0-9]+, to answer' timeout 60 umount.dedupfs --timeout 4 "$mnt"
check_refused "-f unmounts, and says that not all is known to be durable" 64 'gave up after 3 s' timeout 60 umount.dedupfs -f --timeout 3 "$mnt"
check "it is unmounted by -f" eval "! is_mounted '$mnt'"
kill -CONT "$(daemon_pid)"
check "the daemon ends when it goes on" wait_until 20 no_daemon

# A user's mount that says it is of a volume of root's. Its daemon answers nothing, or is dead.
forge() { # KEEP|DIE MOUNTPOINT
  "${user[@]}" python3 - "$1" "$own" "$2" <<'PY'
import array, os, signal, socket, subprocess, sys
how, volume, place = sys.argv[1:]
ours, theirs = socket.socketpair()
options = f"rw,nosuid,nodev,fsname={volume},subtype=dedupfs"
subprocess.run(["fusermount3", "-o", options, "--", place], check=True, pass_fds=[theirs.fileno()],
               env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno())})
fuse = socket.recv_fds(ours, 1, 1)[1][0]
if how == "KEEP" and os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    signal.alarm(600)
    os.read(fuse, 1 << 20) and signal.pause()
PY
}
mode=$(stat -c %a /dev/fuse)
chmod 666 /dev/fuse # as it is where udev has seen to it
trap 'clean_up; chmod "$mode" /dev/fuse' EXIT
"${user[@]}" mkdir "$scratch/home/forged"
dedupfs "$own" "$mnt" -o commit=3600
check "a user forges a mount of root's volume" forge KEEP "$scratch/home/forged"
echo durable >"$mnt/synced"
check "dedupfs-sync VOLUME takes the true mount" timeout 60 dedupfs-sync "$own"
kill -9 "$(daemon_pid "$own")" && umount -i -l "$mnt"
check "the volume can be mounted" dedupfs "$own" "$mnt"
check_equal "what was synced is there" durable "$(cat "$mnt/synced")"
check "a clone" timeout 60 dedupfs-clone "$mnt/synced" "$mnt/clone"
noise 2 20000000 >"$mnt/noise"
umount -i "$mnt"
check "fsck.dedupfs waits for the daemon that is closing the volume" fsck.dedupfs -n "$own"
dedupfs "$own" "$mnt"
check "umount.dedupfs VOLUME unmounts the true mount" timeout 60 umount.dedupfs "$own"
check "and that one only" eval "is_mounted '$scratch/home/forged' && ! is_mounted '$mnt'"
umount -l "$scratch/home/forged"
check "a user forges a dead mount" forge DIE "$scratch/home/forged"
check_refused "mount does not take it for root's" 32 'a dead mount of|denied' timeout 60 dedupfs "$own" "$scratch/home/forged"
check "and does not detach it" is_mounted "$scratch/home/forged"
umount -l "$scratch/home/forged"

# A copy of the mount in another mount namespace.
mount_volume foreign
unshare -m --propagation private sleep 300 &
copy=$!
wait_until 60 eval "[ \"\$(readlink /proc/$copy/ns/mnt)\" != \"\$(readlink /proc/self/ns/mnt)\" ] && grep -q sleep /proc/$copy/comm"
check_refused "umount.dedupfs names who holds a copy of the mount" 64 "another mount namespace still has the mount, because of .*process $copy \(sleep\)" timeout 60 umount.dedupfs --timeout 4 "$mnt"
kill "$copy" && wait "$copy" 2>/dev/null
check "the daemon ends with the copy" wait_until 20 no_daemon
check "nothing is lost" fsck.dedupfs -n --foreign "$volume"
finish
