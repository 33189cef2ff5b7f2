#!/usr/bin/env bash
# What the system does to the daemon while it runs: limits, stops, aborted mounts, a disk that goes away. It says so to whoever
# has to know, does not die, does not hang, and loses nothing that was durable. docs/testing.md lists them.
. "$(dirname "$0")/lib.sh"

noise 1 3000000 >"$scratch/kept"
noise 2 3000000 >"$scratch/more"
noise 4 3000000 >"$scratch/new"

# start_limited LIMIT...: $volume at $mnt, with a daemon under these limits of ulimit.
start_limited() {
  mkdir -p "$mnt"
  (ulimit "$@" && exec dedupfs "$volume" "$mnt") 2>>"$daemon_log"
}
sound() { fsck.dedupfs -n "$volume"; }
patience=10
! grep -q "__[at]san_init" "$tools/dedupfs" || patience=60

# ---- limits of the process
new_volume
for number in $(seq 40); do head -c 20000 "$scratch/more" | tail -c "$((number * 400))" >"$mnt/small$number"; done
cp "$scratch/kept" "$mnt/kept"
unmount_volume
check "mount with 64 descriptors" start_limited -n 64
check "10,000 open files cost the daemon none" python3 - "$mnt" <<'PY'
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
handles = [os.open(f"{sys.argv[1]}/small{1 + i % 40}", os.O_RDWR) for i in range(10000)]
os.pwrite(handles[-1], b"x", 0)
assert os.pread(handles[39], 1, 0) == b"x"
PY
check "it reads and writes" eval 'cmp "$mnt/kept" "$scratch/kept" && cp "$scratch/more" "$mnt/more" && commit && cmp "$mnt/more" "$scratch/more"'
check "it unmounts" unmount_volume
check "nothing is wrong after it" sound

check "mount with a limit for the size of files" start_limited -f 1000 # KiB
check "close tells who wrote what cannot be stored" python3 - "$mnt" "$scratch/new" <<'PY'
import errno, os, sys
mount, source = sys.argv[1:]
file = os.open(mount + "/closed", os.O_WRONLY | os.O_CREAT)
content = open(source, "rb").read()
try:
    os.write(file, content)
    os.fsync(os.open(mount, os.O_RDONLY))
    sys.exit("the commit did not fail")
except OSError:
    pass
try:
    os.close(file)
except OSError as error:
    assert error.errno in (errno.EFBIG, errno.EIO, errno.EROFS), error
else:
    sys.exit("it did not")
PY
check_refused "a write beyond the limit of the daemon is an error" 1 'file too large|input/output|read-only' dd if="$scratch/new" of="$mnt/large" bs=1M conv=fsync
check "the daemon does not die of it" daemon_pid
check "what was durable can be read" cmp "$mnt/kept" "$scratch/kept"
check_refused "unmounting says what cannot be made durable" 32 'stays mounted.*too large' umount.dedupfs "$mnt"
umount.dedupfs -f "$mnt" >/dev/null 2>&1
check "umount.dedupfs -f ends it all the same" wait_until "$patience" no_daemon
check "without the limit it goes on" eval 'mount_volume && cp "$scratch/new" "$mnt/large" && commit && cmp "$mnt/large" "$scratch/new"'
unmount_volume
check "nothing is wrong after that, either" sound

# ---- many handles, deep trees, one chunk a million times
mount_volume
check "100,000 handles of 1,000 files that lose their names" python3 - "$mnt/handles" <<'PY'
import os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
each = min(100000, hard - 100)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
os.mkdir(sys.argv[1])
names = [f"{sys.argv[1]}/{i}" for i in range(1000)]
for i, name in enumerate(names):
    with open(name, "w") as file:
        file.write(f"{i}" * 600)
children, opened, gone = [], os.pipe(), os.pipe()
for first in range(0, 100000, each):  # in as many processes as their limit asks for
    child = os.fork()
    if child == 0:
        mine = range(first, min(first + each, 100000))
        handles = [os.open(names[i % 1000], os.O_RDONLY) for i in mine]
        os.write(opened[1], b"o")
        os.close(gone[1])
        os.read(gone[0], 1)
        right = all(os.pread(handles[i - first], 10000, 0).decode() == f"{i % 1000}" * 600 for i in mine[::777])
        os._exit(0 if right else 1)
    children.append(child)
for _ in children:
    os.read(opened[0], 1)
for name in names:
    os.unlink(name)
os.rmdir(sys.argv[1])
os.close(gone[1])
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
PY
check "folders 10,000 deep are made, walked and removed" python3 - "$mnt" <<'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(10000):
    os.mkdir("d", dir_fd=fd)
    below = os.open("d", os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = below
depth = 0
os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
os.unlink("bottom", dir_fd=fd)
top = os.stat(sys.argv[1])
while not os.path.samestat(os.fstat(fd), top):
    above = os.open("..", os.O_RDONLY, dir_fd=fd)
    os.rmdir("d", dir_fd=above)
    os.close(fd)
    fd, depth = above, depth + 1
assert depth == 10000, depth
PY
commit
used=$(stat_of unique_bytes)
check "5,000 links to one file, 5,000 names in one directory" python3 "$here/many_names.py" "$mnt" 5000
check "a file of 10^6 equal blocks, cloned" python3 - "$mnt/equal" "$scratch/kept" <<'PY'
import os, sys
block = open(sys.argv[2], "rb").read(4096)
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.pwrite(fd, block, 0)
size, end = 4096, 4096 * 10**6
while size < end:
    size += os.copy_file_range(fd, fd, min(size, end - size), 0, size)
assert os.fstat(fd).st_size == end
for offset in (0, end // 2, end - 4096):
    assert os.pread(fd, 4096, offset // 4096 * 4096) == block
PY
commit
check "takes next to no room" test "$(($(stat_of unique_bytes) - used))" -lt 100000
check "and is deleted" eval 'rm "$mnt/equal" && commit'
check "copying a range onto itself is refused where it overlaps" python3 - "$mnt/kept" <<'PY'
import errno, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    os.copy_file_range(fd, fd, 8192, 0, 4096)
except OSError as error:
    assert error.errno == errno.EINVAL, error
else:
    sys.exit("it was not")
PY
check "it changed nothing" cmp "$mnt/kept" "$scratch/kept"
check "data that is all one, in all lengths around the largest chunk" python3 - "$mnt/ones" <<'PY'
import sys
for length in (1, 511, 512, 513, 131071, 131072, 131073, 1 << 20, (1 << 20) + 1):
    with open(sys.argv[1], "wb") as file:
        file.write(b"\1" * length)
    with open(sys.argv[1], "rb") as file:
        assert file.read() == b"\1" * length, length
PY
check "times of 1901, 2106 and in between stay" python3 - "$mnt/kept" <<'PY'
import os, sys
for ns in (-2_147_483_648_000_000_001, -1, 0, 4_294_967_296_123_456_789):
    os.utime(sys.argv[1], ns=(ns, ns))
    assert os.stat(sys.argv[1]).st_mtime_ns == ns, ns
PY
check "unmount after all that" unmount_volume
check "nothing is wrong with it" sound

# ---- stops and aborted mounts
mount_volume
kill -STOP "$(daemon_pid)"
dd if="$scratch/more" of="$mnt/stopped" bs=64k conv=fsync status=none &
writer=$!
cmp "$mnt/kept" "$scratch/kept" &
reader=$!
read -r -t 3 _ < <(sleep 4) # longer than half of a commit interval
kill -CONT "$(daemon_pid)"
wait "$reader"
check_equal "a reader waits for a stopped daemon" 0 $?
wait "$writer"
check_equal "and so does a writer" 0 $?
check "what was written is right" cmp "$mnt/stopped" "$scratch/more"

(noise 3 400000000 >"$mnt/long") 2>/dev/null &
writer=$!
wait_until "$patience" test -s "$mnt/long"
kill -TERM "$(daemon_pid)"
check "SIGTERM in the middle of a write ends the daemon" wait_until $((3 * patience)) no_daemon
wait "$writer" 2>/dev/null
check "nothing is wrong after it" sound
mount_volume
length=$(stat -c %s "$mnt/long")
check "what was written until then is there, and right ($length bytes)" cmp "$mnt/long" <(noise 3 400000000 2>/dev/null | head -c "$length")
rm "$mnt/long"

cp "$scratch/more" "$mnt/lazy"
exec 7<"$mnt/lazy"
check "umount -l while a file is open" umount -l "$mnt"
check "the file can be read on" cmp "$scratch/more" <(cat <&7)
exec 7<&-
check "the daemon ends when it is closed" wait_until "$patience" no_daemon
check "nothing was lost" eval 'mount_volume && cmp "$mnt/lazy" "$scratch/more"'

if is_root; then
  mkdir "$scratch/fusectl"
  if mount -t fusectl fusectl "$scratch/fusectl" 2>/dev/null; then
    cp "$scratch/kept" "$mnt/aborted"
    # Connections have the number of the filesystem's anonymous device as their name.
    check "abort of the connection" tee "$scratch/fusectl/$(stat -c %d "$mnt")/abort" <<<1
    check "the daemon ends" wait_until "$patience" no_daemon
    umount -l "$mnt"
    umount "$scratch/fusectl"
    check "what it had taken is there" eval 'mount_volume && cmp "$mnt/aborted" "$scratch/kept"'
  else
    skip "abort of the connection" "no fusectl here"
  fi
  check "umount -f" umount -f "$mnt"
  check "ends the daemon" wait_until "$patience" no_daemon
  check "nothing is wrong after all that" sound
fi

# ---- the disk below goes away and comes back
if is_root && losetup --find >/dev/null 2>&1; then
  disk=$scratch/disk
  mkdir "$disk"
  truncate -s 300M "$scratch/image"
  mkfs.ext4 -q "$scratch/image" && mount -o loop "$scratch/image" "$disk"
  volume=$disk/volume
  new_volume
  cp "$scratch/kept" "$mnt/kept"
  commit
  cp "$scratch/more" "$mnt/target" && commit
  check "when the disk goes, readers see what a copy changed before it failed" python3 - "$disk" "$mnt" <<'PY'
import errno, fcntl, mmap, os, struct, sys, time
SIZE = 1 << 20
disk, mount = sys.argv[1:]
source = os.open(mount + "/kept", os.O_RDONLY)
target = os.open(mount + "/target", os.O_RDWR | os.O_DSYNC)
direct = os.open(mount + "/target", os.O_RDONLY | os.O_DIRECT)
before = os.pread(target, SIZE, 0)

fd = os.open(disk, os.O_RDONLY)
assert os.fstat(fd).st_dev != os.stat(os.path.dirname(disk)).st_dev
fcntl.ioctl(fd, 0x8004587D, struct.pack("I", 2))  # EXT4_IOC_SHUTDOWN, no log flush

try:
    os.copy_file_range(source, target, SIZE // 2, 0, 1000)
    sys.exit("the copy was not to be durable")
except OSError as error:
    assert error.errno in (errno.EIO, errno.EROFS), error
buffer = mmap.mmap(-1, SIZE)
os.preadv(direct, [buffer], 0)
assert buffer[:len(before)] != before, "the copy changed nothing"
for _ in range(100):  # pages are dropped after the answer
    if os.pread(target, SIZE, 0) == buffer[:len(before)]:
        sys.exit()
    time.sleep(0.05)
sys.exit("a buffered read still gives what was there before")
PY
  check_refused "when the disk is gone, fsync fails" 1 'input/output|read-only' timeout "$patience" dd if="$scratch/more" of="$mnt/more" bs=1M conv=fsync
  check_refused "and goes on failing" 1 'input/output|read-only' timeout "$patience" dd if="$scratch/more" of="$mnt/again" bs=1M conv=fsync
  check_refused "deletions, too, or they are not durable" 1 'input/output|read-only' timeout "$patience" bash -c "rm '$mnt/kept' && sync '$mnt'"
  check "no reader hangs" eval 'timeout "$patience" cat "$mnt/kept" >/dev/null 2>&1; [ $? -ne 124 ]'
  check_refused "unmounting says that changes cannot be made durable" 32 'stays mounted' timeout "$patience" umount.dedupfs "$mnt"
  timeout "$patience" umount.dedupfs -f "$mnt" >/dev/null 2>&1
  check "umount.dedupfs -f ends it all the same" wait_until "$patience" no_daemon
  wait_until "$patience" umount "$disk"
  check "when the disk is back, what was durable is there" eval 'mount -o loop "$scratch/image" "$disk" && mount_volume && cmp "$mnt/kept" "$scratch/kept"'
  check "writing goes on" eval 'cp "$scratch/more" "$mnt/more" && commit'
  unmount_volume
  check "and nothing is wrong" sound
else
  skip "a disk that goes away" "no loop device can be had, or not root"
fi
finish
