#!/usr/bin/env bash
# The disk below fills up: the writer gets ENOSPC, what was there stays, deletion works, and it goes on after space is freed.
. "$(dirname "$0")/lib.sh"

is_root || { skip "full disk" "needs root, for a small disk of its own"; exit 0; }
disk=$scratch/disk
mkdir "$disk"
truncate -s 200M "$scratch/image"
if ! { mkfs.ext4 -q "$scratch/image" && mount -o loop "$scratch/image" "$disk"; }; then
  fail "a small disk" "cannot loop-mount an image; the test needs that"
  exit 1
fi
volume=$disk/volume
fallocate -l 60M "$disk/ballast"

new_volume
noise 1 20000000 >"$scratch/first"
cp "$scratch/first" "$mnt/first"
commit
check_equal "statfs shows the room of the disk below" 1 \
  "$(awk -v a="$(stat -f -c '%a * %S' "$mnt" | tr -d ' ' | awk -F'*' '{print $1 * $2}')" \
    -v b="$(stat -f -c '%a * %S' "$disk" | tr -d ' ' | awk -F'*' '{print $1 * $2}')" 'BEGIN {print (a <= b && a > b / 2)}')"

# Much more than there is room for; the error may come from write, from fsync or from close, but it must come.
fill() { noise "$1" 300000000 | dd of="$mnt/$1" bs=1M iflag=fullblock conv=fsync status=none; }
check_refused "the writer gets ENOSPC" 1 'no space left' fill big
check_refused "a small write, too, or it succeeds and stays" 1 'no space left' bash -c "
  for i in \$(seq 40); do head -c 1000000 /dev/urandom | dd of='$mnt/small'\$i bs=1M iflag=fullblock conv=fsync status=none || exit 1; done"
check "what was there can be read" cmp "$scratch/first" "$mnt/first"
check "the daemon lives" daemon_pid
check "statfs says that it is full" test "$(stat -f -c %a "$mnt")" -lt 5000
check "deletion works" rm "$mnt/big"
check "all of it" eval 'rm -f "$mnt"/small*'
check "fsync of nothing new works" commit

rm "$disk/ballast"
wait_until 20 cp "$scratch/first" "$mnt/second"
check "after space is freed on the host it goes on" eval 'noise 5 20000000 >"$mnt/third" && commit'
check "what was written then is right" cmp "$mnt/third" <(noise 5 20000000)
check "duplicates fit, too" cmp "$scratch/first" "$mnt/second"

fill again 2>/dev/null
crash
check "mount after kill -9 on a full disk" mount_volume
check "what was durable is there" cmp "$scratch/first" "$mnt/first"
check "and what came after" cmp "$mnt/third" <(noise 5 20000000)
rm -f "$mnt/again"
check "what was deleted gives its space back" dedupfs-gc --wait "$mnt"

# Each container is half garbage then, and what is left in it has to move into what the reserve leaves.
pieces=0
while noise "piece$pieces" 500000 | dd of="$mnt/piece$pieces" bs=1M iflag=fullblock conv=fsync status=none 2>/dev/null; do pieces=$((pieces + 1)); done
rm -f "$mnt/piece$pieces"
check "pieces filled the disk" test "$pieces" -gt 100
check "dedupfs-stat works on a full disk" dedupfs-stat "$mnt"
for i in $(seq 0 2 $((pieces - 1))); do rm "$mnt/piece$i"; done
check "a full volume is reclaimed" dedupfs-gc --wait "$mnt"
check "half of the pieces find room again" eval '
  for i in $(seq 1 $((pieces / 2 - 10))); do noise "new$i" 500000 | dd of="$mnt/new$i" bs=1M iflag=fullblock conv=fsync status=none || exit 1; done'
check "those that stayed are whole" eval '
  for i in $(seq 1 2 $((pieces - 1))); do cmp "$mnt/piece$i" <(noise "piece$i" 500000) || exit 1; done'
check "unmount" unmount_volume
check "fsck.dedupfs -n finds nothing" fsck.dedupfs -n --verify-data "$volume"

# Others fill the disk, to the last byte. Without a mount nothing could be deleted, so a mount has to work. (Of blocks that ext4
# reserves for root the daemon gets none back, for it has given up the right to them.)
tune2fs -m 0 "$(findmnt -no SOURCE "$disk")" >/dev/null
rm -rf "$volume"
new_volume
noise kept 2000000 >"$mnt/kept"
noise large 60000000 >"$mnt/large"
python3 -c '
import os, sys
for i in range(20000): open(os.path.join(sys.argv[1], f"small-{i}"), "w").write(f"content of {i}")' "$mnt"
commit
fill_from_outside() {
  for _ in 1 2 3 4 5; do # what the daemon gives back meanwhile, too
    head -c 400000000 /dev/zero >>"$disk/outside" 2>/dev/null
    while head -c 1024 /dev/zero >>"$disk/outside" 2>/dev/null; do :; done
    test "$(stat -f -c %a "$disk")" -lt 64 && return # blocks
  done
  return 1
}
check "others fill the disk" fill_from_outside
crash
check "mount after kill -9" mount_volume
check "what was durable is there" eval 'cmp "$mnt/kept" <(noise kept 2000000) && test "$(cat "$mnt/small-19999")" = "content of 19999"'
check "files can be deleted" rm "$mnt/large"
check "durably" dedupfs-sync "$mnt"
check "and give their space back" dedupfs-gc --wait "$mnt"
check "which is some" test "$(stat -f -c %f "$disk")" -gt 10000
check "then there is room to write" eval 'noise new 20000000 >"$mnt/new" && dedupfs-sync "$mnt" && cmp "$mnt/new" <(noise new 20000000)'
check "others fill it again, while it is mounted" fill_from_outside
write_late() { noise late 5000000 | dd of="$mnt/late" bs=1M iflag=fullblock conv=fsync status=none; }
check_refused "then a writer gets ENOSPC" 1 'no space left' write_late
check_refused "again and again" 1 'no space left' write_late
# Left alone, RocksDB would wait until as much is free as all its buffers hold.
truncate -s -20M "$disk/outside"
check "with 20 MiB free again, writes go on by themselves" wait_until 20 write_late
check "and are right" eval 'dedupfs-sync "$mnt" && cmp "$mnt/late" <(noise late 5000000)'
check "others fill that, too" fill_from_outside
check "files can be deleted then, too" eval 'rm "$mnt/new" && dedupfs-sync "$mnt" && dedupfs-gc --wait "$mnt"'
check "and unmounted" unmount_volume
check "they fill it once more" fill_from_outside
check "mount after an unmount" mount_volume
check "names can be changed" eval 'rm "$mnt"/small-100* && dedupfs-sync "$mnt"'
checkpoints() { find "$volume/checkpoints" -name '*.checkpoint' | sort | tail -n 1; }
before=$(checkpoints)
check_refused "an unmount that has no room for a checkpoint says so" 0 'warning: the checkpoint of the last state was not written' unmount_volume
rm "$disk/outside"
check "mount when there is room" mount_volume
check "unmount, though nothing was changed" unmount_volume
check "takes the checkpoint that is missing ($before)" test "$(checkpoints)" \> "$before"
check "mount" mount_volume
check "with room again, write" eval 'noise after 5000000 >"$mnt/after" && dedupfs-sync "$mnt"'
check "room for the next mount is kept" test "$(stat -c %b "$volume/ballast")" -ge 1024
check "unmount" unmount_volume
check "fsck.dedupfs -n finds nothing" fsck.dedupfs -n --verify-data "$volume"
finish
