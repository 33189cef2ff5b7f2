#!/usr/bin/env bash
# Wrong calls give a clear message and the right exit status, and nothing is lost.
. "$(dirname "$0")/lib.sh"

mkdir "$mnt" "$scratch/full" "$scratch/empty"
echo precious >"$scratch/full/file"

check_refused "mkfs refuses a folder that is not empty" 8 'not empty' mkfs.dedupfs "$scratch/full"
check_equal "and leaves it alone" "file" "$(ls -A "$scratch/full")"
check_refused "mkfs refuses a file" 8 'not a (folder|directory)' mkfs.dedupfs "$scratch/full/file"
check_refused "mkfs refuses a place that cannot exist" 8 'no such|not found|does not exist' mkfs.dedupfs "$scratch/no/such/place"
check_refused "mkfs names the chunkers when one is unknown" 16 'nosuch.*gear16' mkfs.dedupfs --chunker nosuch:avg=8k "$volume"
check_refused "mkfs refuses an unknown parameter" 16 'colour' mkfs.dedupfs --chunker ram:colour=3 "$volume"
check_refused "mkfs refuses a parameter out of range" 16 'avg' mkfs.dedupfs --chunker ram:avg=1 "$volume"
check_refused "mkfs refuses min above avg" 16 'min' mkfs.dedupfs --chunker ram:avg=8k,min=16k,max=32k "$volume"
check_refused "mkfs refuses an unknown compression" 16 'brotli' mkfs.dedupfs --compression brotli "$volume"
check_refused "mkfs names the methods when one is unknown" 16 'xdelta.*odess\+' mkfs.dedupfs --delta xdelta "$volume"
check_refused "mkfs refuses a depth out of range" 16 'depth' mkfs.dedupfs --delta odess+:depth=17 "$volume"
check_refused "mkfs refuses an unknown parameter of deltas" 16 'colour' mkfs.dedupfs --delta odess+:colour=3 "$volume"
check_refused "mkfs refuses parameters of none" 16 'none' mkfs.dedupfs --delta none:depth=1 "$volume"
check_refused "mkfs wants a volume" 16 'usage|required|volume' mkfs.dedupfs
check "after all that there is no volume" test ! -e "$volume"

check "mkfs into an empty folder" mkfs.dedupfs "$volume"
check_refused "mkfs refuses an existing volume" 8 'volume' mkfs.dedupfs "$volume"

check_refused "mount refuses what is no volume" 32 'no (dedupfs )?volume' dedupfs "$scratch/full" "$mnt"
check_refused "mount refuses an empty folder" 32 'no (dedupfs )?volume' dedupfs "$scratch/empty" "$mnt"
check_refused "mount refuses a missing volume" 32 'no such|not found|no volume' dedupfs "$scratch/missing" "$mnt"
check_refused "mount refuses a missing mountpoint" 32 'no such|not found|mount ?point' dedupfs "$volume" "$scratch/missing"
check_refused "mount refuses a mountpoint that is a file" 32 'not a (folder|directory)|mount ?point' dedupfs "$volume" "$scratch/full/file"
mkdir "$volume.inside" && mkdir "$volume/mnt"
check_refused "mount refuses a mountpoint inside the volume" 32 'inside' dedupfs "$volume" "$volume/mnt"
check_refused "and the volume as its own mountpoint" 32 'inside|same|itself' dedupfs "$volume" "$volume"
rmdir "$volume/mnt" "$volume.inside"
check_refused "mount wants two arguments" 1 'usage|required|mountpoint' dedupfs "$volume"
check_refused "mount refuses a size that is none" 1 'cache' dedupfs "$volume" "$mnt" -o cache=much

check "mount" mount_volume
echo kept >"$mnt/file"
mkdir "$scratch/second"
check_refused "mount refuses a volume in use" 32 'in use|mounted|busy' dedupfs "$volume" "$scratch/second"
check_refused "mkfs refuses a volume in use" 8 'volume' mkfs.dedupfs "$volume"
check "and the first mount goes on" grep -q kept "$mnt/file"
unmount_volume
check_refused "umount.dedupfs of what is not mounted" 32 'no volume is mounted|not mounted' umount.dedupfs "$mnt"

# A later version, with a right checksum, as docs/format.md describes it.
cp "$volume"/superblock*.json "$scratch"
python3 - "$volume/superblock.json" <<'PY'
import sys, xxhash
text = open(sys.argv[1]).read()[:-33].replace('"format_version": 1,', '"format_version": 999,')
open(sys.argv[1], "w").write(text + '"checksum": "%s"\n}\n' % xxhash.xxh3_64_hexdigest(text))
PY
check_refused "mount refuses a newer format" 32 '999' dedupfs "$volume" "$mnt"
check_refused "fsck refuses a newer format" 8 '999' fsck.dedupfs -n --verify-data "$volume"
cp "$scratch"/superblock*.json "$volume"
check "with the right superblock all is well" eval 'mount_volume && grep -q kept "$mnt/file"'

unmount_volume
# Deltas as a later version may find them.
python3 - "$volume/superblock.json" <<'PY'
import re, sys, xxhash
text = re.sub('"delta": "[^"]*"', '"delta": "warp:depth=4"', open(sys.argv[1]).read()[:-33])
open(sys.argv[1], "w").write(text + '"checksum": "%s"\n}\n' % xxhash.xxh3_64_hexdigest(text))
PY
check_refused "mount names a method for deltas that it does not know" 32 'warp' dedupfs "$volume" "$mnt"
cp "$scratch"/superblock*.json "$volume"
check_refused "fsck.dedupfs refuses what is no volume" 8 'volume' fsck.dedupfs -n "$scratch/full"
check_refused "dedupfs-stat refuses what is no volume" 1 'volume' dedupfs-stat "$scratch/full"

if is_root; then
  mkdir "$scratch/bound"
  rm -rf "$volume" && mkfs.dedupfs "$volume" >/dev/null && mount_volume && echo kept >"$mnt/file" &&
    dedupfs-snapshot create "$mnt" first 2>/dev/null && dedupfs-quota set "$mnt" --files 100 >/dev/null && unmount_volume
  mount --bind "$volume" "$scratch/bound" && mount -o remount,ro,bind "$scratch/bound"
  check_refused "mount read-write from a read-only disk says so" 32 'read-only' dedupfs "$scratch/bound" "$mnt"
  check_equal "and names the remedy once" 1 "$(dedupfs "$scratch/bound" "$mnt" 2>&1 | grep -o -e '-o ro\b' | wc -l)"
  check_refused "fsck.dedupfs -y does not advise a mount" 8 'read-only disk.*mounted for writing' fsck.dedupfs -y "$scratch/bound"
  check_refused "nor does dedupfs-gc" 2 'read-only disk.*mounted for writing' dedupfs-gc "$scratch/bound"
  check "dedupfs-snapshot list reads it there" eval 'dedupfs-snapshot list "$scratch/bound" | grep -q first'
  check "and so does diff" dedupfs-snapshot diff "$scratch/bound" first
  check "mount -o ro works from a read-only disk" dedupfs "$scratch/bound" "$mnt" -o ro
  check "and reads" grep -q kept "$mnt/file"
  check_equal "and is asked through the mount, since it has no socket" True "$(stat_of mounted)"
  check "the snapshots of such a mount are listed" eval 'dedupfs-snapshot list "$mnt" | grep -q first'
  check "its quotas, too" eval 'dedupfs-quota list "$mnt" | grep -q 100'
  check "and what goes on there" dedupfs-top --once --interval 1.5 "$mnt"
  check "and its scrub" dedupfs-scrub --status "$mnt"
  check_refused "a scrub there cannot be started, for a reason that is true" 2 "is mounted read-only at $mnt.*fsck.dedupfs -n" \
    dedupfs-scrub "$mnt"
  check_refused "there is no reclaim to ask for" 2 "is mounted read-only at $mnt" dedupfs-gc --status "$mnt"
  # It cannot be asked when it ends, only whether it still has the volume.
  check "unmounting waits until the daemon of a read-only mount has let go, too" eval \
    'umount.dedupfs "$mnt" && flock --nonblock "$volume/lock" true'
  wait_until 20 umount "$scratch/bound"
else
  skip "read-only disk" "needs root"
fi
finish
