#!/usr/bin/env bash
# dedupfs-sync: what it returned for is there after kill -9, whoever wrote it and whoever asked. No commit happens by itself here.
. "$(dirname "$0")/lib.sh"

never="commit=3600"
options=$never$(is_root && echo ,allow_other)
new_volume
remount "$options"

echo hello >"$mnt/x"
mkdir "$mnt/folder"
noise 1 3000000 >"$mnt/folder/large"
check "it makes everything durable" dedupfs-sync "$mnt"
echo late >"$mnt/late"
check "kill -9" crash
check "mount" mount_volume "$options"
check_equal "what was written before it is there" hello "$(cat "$mnt/x")"
check "all of it" cmp "$mnt/folder/large" <(noise 1 3000000)
check "what was written after it was not durable" test ! -e "$mnt/late"

# Shared mappings: before Linux 6.16 only msync(2) waits for them.
if [ "$(printf '%s\n' 6.16 "$(uname -r)" | sort -V | head -n 1)" = 6.16 ]; then
  head -c 8388608 /dev/zero >"$mnt/mapped"
  coproc python3 -c '
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    pages = mmap.mmap(file.fileno(), 0)
    pages[:] = b"m" * len(pages)
    print("written", flush=True)
    sys.stdin.read()' "$mnt/mapped"
  mapper=$COPROC_PID
  read -r -u "${COPROC[0]}" _
  check "changes through a mapping that is still there" dedupfs-sync "$mnt"
  crash
  kill "$mapper" 2>/dev/null
  wait "$mapper" 2>/dev/null
  mount_volume "$options"
  check "are durable, too" cmp "$mnt/mapped" <(head -c 8388608 /dev/zero | tr '\0' m)
else
  skip "shared mappings" "Linux before 6.16 does not wait for them, and the manual says so"
fi

# Several mounts, of which one is none.
other=$scratch/other
mkfs.dedupfs "$other" >/dev/null
mkdir "$scratch/mnt2"
dedupfs "$other" "$scratch/mnt2" -o "$never"
echo one >"$mnt/one"
echo two >"$scratch/mnt2/two"
check_refused "a folder that is no mount is named, with status 2" 2 "$scratch is neither" \
  dedupfs-sync "$mnt/folder" "$scratch" "$other"
for place in "$volume $mnt" "$other $scratch/mnt2"; do
  read -r volume mnt <<<"$place"
  crash
  mount_volume "$never"
done
volume=$scratch/volume mnt=$scratch/mnt
check_equal "the others are durable all the same: by a path below the mount" one "$(cat "$mnt/one")"
check_equal "and by the folder of the volume" two "$(cat "$scratch/mnt2/two")"
umount.dedupfs "$scratch/mnt2"

unmount_volume
check "a read-only mount has nothing to do" eval 'mount_volume ro && dedupfs-sync "$mnt"'
unmount_volume
check_refused "a volume that is not mounted is refused" 2 'is not mounted' dedupfs-sync "$volume"
check_refused "so is what does not exist" 2 'no such file' dedupfs-sync "$scratch/none"
mount_volume "$options"
if is_root; then
  echo other >"$mnt/other"
  cp "$tools/dedupfs-sync" "$scratch/" # the build folder may be closed to others
  check "every user may ask who may enter the mount" \
    setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/dedupfs-sync" "$mnt"
  crash
  mount_volume "$options"
  check_equal "and it is done" other "$(cat "$mnt/other")"
  mount -t tmpfs tmpfs "$mnt"
  check_refused "another filesystem on top is not taken for the volume" 2 'neither a dedupfs volume' dedupfs-sync "$mnt"
  umount "$mnt"
fi
kill -9 "$(daemon_pid)"
wait_until 10 no_daemon
check_refused "a daemon that has died is an error" 2 'not connected' dedupfs-sync "$mnt"
fusermount3 -u -z "$mnt"

check_refused "a mount point is needed" 1 'required' dedupfs-sync
check_refused "unknown options are refused" 1 'fast' dedupfs-sync --fast "$mnt"
check "--version" eval 'dedupfs-sync --version | grep -q "^dedupfs-sync "'
finish
