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
check_refused "a folder that is no mount is named, with status 2" 2 "$scratch is not a dedupfs volume" \
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
    as_nobody "$scratch/dedupfs-sync" "$mnt"
  crash
  mount_volume "$options"
  check_equal "and it is done" other "$(cat "$mnt/other")"
  mount -t tmpfs tmpfs "$mnt"
  check_refused "another filesystem on top is not taken for the volume" 2 'not a dedupfs volume' dedupfs-sync "$mnt"
  umount "$mnt"
fi
kill -9 "$(daemon_pid)"
wait_until 60 no_daemon
check_refused "a daemon that has died is an error" 2 'not connected' dedupfs-sync "$mnt"
fusermount3 -u -z "$mnt"

# Changes that are durable when they return, without anybody asking.
# survives NAME OPTIONS PROGRAM EXPECTED CHECK: after PROGRAM, of Python, and kill -9, CHECK prints EXPECTED.
survives() {
  local name=$1 expected=$4
  mount_volume "$never${2:+,$2}"
  check "$name" python3 -c "import os, sys; os.chdir(sys.argv[1]); W, R, D, S = os.O_WRONLY, os.O_RDWR, os.O_DSYNC, os.O_SYNC
$3" "$mnt"
  crash
  mount_volume "$never"
  check_equal "is durable when it returns" "$expected" "$(cd "$mnt" && eval "$5")"
  unmount_volume
}
mount_volume "$never"
seq 100000 >"$mnt/source"
for number in 1 2 3 4 5 6 7 8; do cp "$mnt/source" "$mnt/f$number"; done
unmount_volume
survives "a write past the cache with O_DSYNC" "" 'os.pwrite(os.open("f1", W | D), b"new", 0)' new 'head -c 3 f1'
survives "a write through the cache with O_SYNC" "" 'os.pwrite(os.open("f2", R | S), b"new", 0)' new 'head -c 3 f2'
survives "one with RWF_DSYNC" "" 'os.pwritev(os.open("f3", R), [b"new"], 0, os.RWF_DSYNC)' new 'head -c 3 f3'
survives "one past the cache with RWF_DSYNC" "" 'os.pwritev(os.open("f3", W), [b"newer"], 0, os.RWF_DSYNC)' newer 'head -c 5 f3'
survives "copy_file_range with O_DSYNC" "" \
  'os.copy_file_range(os.open("source", os.O_RDONLY), os.open("f4", R | D), 6, 588888, 0)' 100000 'head -c 6 f4'
survives "fallocate with O_DSYNC" "" 'os.posix_fallocate(os.open("f5", R | D), 0, 1000000)' 1000000 'stat -c %s f5'
survives "with -o sync a truncation" sync 'os.truncate("f6", 10)' 10 'stat -c %s f6'
survives "with -o sync a write" sync 'os.pwrite(os.open("f6", R), b"new", 0)' new 'head -c 3 f6'
survives "with -o sync a new mode" sync 'os.chmod("f7", 0o640)' 640 'stat -c %a f7'
survives "with -o sync an attribute" sync 'os.setxattr("f7", "user.x", b"1")' 1 'getfattr --only-values -n user.x f7'
survives "with -o sync a removed attribute" sync 'os.removexattr("f7", "user.x")' "" 'getfattr --only-values -n user.x f7 2>/dev/null'
survives "with -o sync a name" sync 'os.rename("f7", "renamed")' 640 'stat -c %a renamed'
survives "with -o dirsync a name" dirsync 'os.mkdir("made")' directory 'stat -c %F made'
survives "with -o sync a clone" sync "import subprocess; subprocess.run(['dedupfs-clone', 'source', 'clone'], check=True)" 100000 'tail -n 1 clone'
if is_root; then
  remounts() { echo "import subprocess; subprocess.run(['dedupfs', '$volume', '$mnt', '-o', 'remount,$1'], check=True)"; }
  survives "after remount,sync a new mode" "" "$(remounts sync); os.chmod('f8', 0o600)" 600 'stat -c %a f8'
  survives "after remount,dirsync a name" "" "$(remounts dirsync); os.unlink('f8')" 0 'ls | grep -cx f8'
fi
mount_volume "$never"

check_refused "a mount point is needed" 1 'required' dedupfs-sync
check_refused "unknown options are refused" 1 'fast' dedupfs-sync --fast "$mnt"
check "--version" eval 'dedupfs-sync --version | grep -q "^dedupfs-sync "'
finish
