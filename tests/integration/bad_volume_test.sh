#!/usr/bin/env bash
# Volumes whose files are missing, cut off, exchanged or garbage: mount and fsck.dedupfs say so at once, and no wrong byte is
# read. docs/testing.md lists them; damage inside of containers is in damage_test.sh.
. "$(dirname "$0")/lib.sh"

new_volume --compression none
noise 1 3000000 >"$scratch/first"
noise 2 2000000 >"$scratch/second"
cp "$scratch/first" "$mnt/first"
remount # another container
cp "$scratch/second" "$mnt/second"
unmount_volume
cp -a "$volume" "$scratch/good"
mkfs.dedupfs "$scratch/other" >/dev/null

limit=5 # seconds that a refusal may take
! grep -q "__[at]san_init" "$tools/dedupfs" || limit=60
container() { find "$volume/containers" -type f | sort | sed -n "$1p"; }
garbage() { # FILE...: of the size that they have
  local file
  for file in "$@"; do noise "$file" "$(stat -c %s "$file")" >"$scratch/garbage" && cat "$scratch/garbage" >"$file"; done
}

# damage COMMAND: does it to a fresh copy of the volume.
damage() {
  rm -rf "$volume"
  cp -a "$scratch/good" "$volume"
  eval "$1"
}

# refused NAME PATTERN COMMAND: after COMMAND the mount fails in time and says why, and fsck.dedupfs -n finds it, too.
refused() {
  local status=0
  damage "$3"
  check_refused "mount: $1" 32 "$2" timeout "$limit" dedupfs "$volume" "$mnt"
  ! is_mounted "$mnt" || unmount_volume
  timeout "$limit" fsck.dedupfs -n "$volume" >"$scratch/found" 2>&1 || status=$?
  if [ "$status" -eq 4 ] || [ "$status" -eq 8 ]; then
    pass "fsck: $1"
  else
    fail "fsck: $1" "gave $status: $(tail -n 3 "$scratch/found")"
  fi
}

# confined NAME COMMAND [STATUS OF FSCK]: after COMMAND the volume can be mounted, what is read is right or EIO, and fsck.dedupfs -n finds it.
confined() {
  local file
  damage "$2"
  check "mount: $1" timeout "$limit" dedupfs "$volume" "$mnt"
  for file in first second; do
    check "no wrong byte: $1, $file" python3 - "$mnt/$file" "$scratch/$file" <<'PY'
import errno, os, sys
expected = open(sys.argv[2], "rb").read()
fd = os.open(sys.argv[1], os.O_RDONLY)
offset = 0
while offset < len(expected):
    try:
        part = os.pread(fd, 65536, offset)
        assert part and part == expected[offset : offset + len(part)], offset
        offset += len(part)
    except OSError as error:
        assert error.errno == errno.EIO, error
        offset += 4096
PY
  done
  unmount_volume
  check_refused "fsck: $1" "${3:-4}" 'container' fsck.dedupfs -n "$volume"
}

both='{superblock,superblock.copy}.json'
for size in 0 1 511; do refused "superblocks of $size bytes" 'superblock' "truncate -s $size \$volume/$both"; done
refused "superblocks of garbage" 'superblock' "garbage \$volume/$both"
refused "another magic" 'superblock.*volume' 'python3 - "$volume"/superblock*.json <<PY
import sys, xxhash
for path in sys.argv[1:]:
    text = open(path).read()[:-33].replace("\"magic\": \"", "\"magic\": \"x")
    open(path, "w").write(text + "\"checksum\": \"%s\"\n}\n" % xxhash.xxh3_64_hexdigest(text))
PY'
refused "no index" 'index' 'rm -r "$volume/index"'
refused "an empty index" 'index' 'rm -r "$volume/index"/*'
refused "the index of another volume" 'another volume' 'rm -r "$volume/index" && cp -a "$scratch/other/index" "$volume"'
refused "no containers folder" 'containers' 'rm -r "$volume/containers"'
refused "CURRENT of garbage" 'index' 'garbage "$volume/index/CURRENT"'
refused "a manifest of garbage" 'index' 'garbage "$volume"/index/MANIFEST-*'
refused "garbage as every file" 'superblock' 'garbage $(find "$volume" -type f)'
refused "garbage as every file of the index" 'index' 'garbage $(find "$volume/index" -type f)'
refused "a FIFO as superblocks" 'superblock|regular' "rm \$volume/$both && mkfifo \$volume/$both"
refused "a device as superblocks" 'superblock|regular' "rm \$volume/$both && mknod \$volume/superblock.json c 1 5 && mknod \$volume/superblock.copy.json c 1 5"
refused "links as superblocks" 'superblock|symbolic' 'for file in superblock superblock.copy; do ln -sf "$scratch/good/$file.json" "$volume/$file.json"; done'
refused "a link as index" 'index' 'rm -r "$volume/index" && ln -s "$scratch/good/index" "$volume/index"'
refused "a link as containers" 'containers' 'rm -r "$volume/containers" && ln -s "$scratch/good/containers" "$volume/containers"'
refused "a FIFO as index" 'index' 'rm -r "$volume/index" && mkfifo "$volume/index"'
refused "a file as the volume" 'not a (folder|directory)' 'rm -r "$volume" && echo hello >"$volume"'
rm -f "$volume"
damage 'rm "$volume/lock" && mkfifo "$volume/lock"'
check_refused "mount: a FIFO as lock" 32 'lock' timeout "$limit" dedupfs "$volume" "$mnt"
damage 'ln -sf "$scratch/precious" "$volume/lock"'
check_refused "mount: a link as lock" 32 'lock' timeout "$limit" dedupfs "$volume" "$mnt"
check "and what it leads to is not made" test ! -e "$scratch/precious"

confined "a container cut off at its end" 'truncate -s -1000 "$(container 1)"'
confined "a container cut off in the middle" 'truncate -s 1000000 "$(container 1)"'
confined "an empty container" 'truncate -s 0 "$(container 2)"'
confined "a container that is missing" 'rm "$(container 1)"'
confined "a container of garbage" 'garbage "$(container 2)"'
confined "a FIFO as container" 'file=$(container 1) && rm "$file" && mkfifo "$file"'
confined "a link as container" 'file=$(container 1) && mv "$file" "$scratch/moved" && ln -s "$scratch/moved" "$file"'
confined "two containers exchanged" 'a=$(container 1) b=$(container 2) && mv "$a" "$a.x" && mv "$b" "$a" && mv "$a.x" "$b"'
confined "containers older than the index" 'rm "$(container 2)" && truncate -s 2000000 "$(container 1)"'

# An index from a backup beside containers that are newer, and writing goes on: no number and no id is used twice, which a rebuild
# of the index, which reads all containers, would show.
damage 'cp -a "$volume/index" "$scratch/backup"'
mount_volume
noise 3 2500000 >"$scratch/newer"
cp "$scratch/newer" "$mnt/newer"
unmount_volume
newer=$(container 3)
cp "$newer" "$scratch/newer.container"
rm -r "$volume/index" && mv "$scratch/backup" "$volume/index"
check "mount: an index older than the containers" mount_volume
noise 4 2500000 >"$scratch/latest"
cp "$scratch/latest" "$mnt/latest"
same_files() { cmp "$mnt/first" "$scratch/first" && cmp "$mnt/second" "$scratch/second" && cmp "$mnt/latest" "$scratch/latest"; }
unmount_volume
check "the newer container is as it was" cmp "$newer" "$scratch/newer.container"
check "fsck: an index older than the containers" fsck.dedupfs -n --verify-data "$volume"
check "no wrong byte: an index older than the containers" eval 'mount_volume && same_files && unmount_volume'
grep -laE 'name(chunks|fingerprints)' "$volume"/index/*.sst | xargs rm
status=0
fsck.dedupfs -y --verify-data "$volume" >"$scratch/found" || status=$?
check_equal "the index is made anew from all containers" 1 $status
check "no wrong byte: after that" eval 'mount_volume && same_files && cp "$scratch/newer" "$mnt/more" && commit && cmp "$mnt/more" "$scratch/newer" && unmount_volume'
check "and nothing is wrong" fsck.dedupfs -n --verify-data "$volume"

damage 'rm "$volume/lock"'
check "a lock that is missing is made" eval 'mount_volume && cmp "$mnt/first" "$scratch/first" && unmount_volume'
damage 'echo 1 >"$volume/lock"'
check "a lock that names a process which does not hold it is none" eval 'mount_volume && unmount_volume && fsck.dedupfs -n "$volume"'
finish
