#!/usr/bin/env bash
# What fsync, sync or umount returned for survives a crash; what comes back is a state that existed.
. "$(dirname "$0")/lib.sh"

# durable_writer FILE: appends numbered blocks, and prints each number once its fsync has returned.
durable_writer() {
  exec python3 - "$1" <<'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
for number in range(1 << 30):
    os.write(fd, number.to_bytes(4, "big") * 1000)
    os.fsync(fd)
    print(number, flush=True)
PY
}

# blocks_of FILE: how many whole blocks of the writer above there are; fails when one is wrong.
blocks_of() {
  python3 - "$1" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
blocks = len(data) // 4000
assert data[: blocks * 4000] == b"".join(number.to_bytes(4, "big") * 1000 for number in range(blocks)), "a block is wrong"
print(blocks)
PY
}

new_volume
for round in 1 2 3; do
  durable_writer "$mnt/log$round" >"$scratch/acknowledged" 2>/dev/null &
  writer=$!
  wait_until 20 test -s "$scratch/acknowledged"
  sleep 0.$((round * 3))
  crash
  wait "$writer" 2>/dev/null
  acknowledged=$(($(tail -n 1 "$scratch/acknowledged") + 1))
  check "mount after kill -9, round $round" mount_volume
  found=$(blocks_of "$mnt/log$round") || found=-1
  check "round $round: all $acknowledged blocks that fsync returned for are there ($found)" test "$found" -ge "$acknowledged"
done
unmount_volume
check "fsck finds nothing after three crashes" fsck.dedupfs -n --verify-data "$volume"
mount_volume

# Files made in order; a state that existed holds the first so many of them, each whole or as it was at the commit.
ordered_files() {
  local number
  for number in $(seq 100000); do printf '%s' "$number" >"$mnt/order/$number" || return; done 2>/dev/null
}
mkdir "$mnt/order"
commit
ordered_files &
sleep 7 # longer than the commit interval
crash
wait $! 2>/dev/null
check "mount after kill -9 without fsync" mount_volume
survivors=$(find "$mnt/order" -type f | wc -l)
check "without fsync, changes older than the commit interval are there ($survivors files)" test "$survivors" -gt 0
highest=$(find "$mnt/order" -type f -printf '%f\n' | sort -n | tail -n 1)
check_equal "the files that survived are the first ones, without gaps" "$highest" "$survivors"
wrong=$(for file in $(seq $((survivors - 1))); do [ "$(cat "$mnt/order/$file")" = "$file" ] || echo "$file"; done | head -n 3)
check_equal "they hold what was written" "" "$wrong"

# rename over the old file after fsync of the new one: always one of the two, whole.
noise 1 300000 >"$scratch/old"
noise 2 300000 >"$scratch/new"
cp "$scratch/old" "$mnt/config"
commit
dd if="$scratch/new" of="$mnt/config.tmp" bs=64k conv=fsync status=none
mv "$mnt/config.tmp" "$mnt/config"
crash
mount_volume
check "after fsync and rename there is the old file or the new one" eval \
  'cmp -s "$scratch/old" "$mnt/config" || cmp -s "$scratch/new" "$mnt/config"'

cp "$scratch/new" "$mnt/synced"
commit
crash
mount_volume
check "fsync of a directory makes everything durable" cmp "$scratch/new" "$mnt/synced"

cp "$scratch/old" "$mnt/terminated"
kill -TERM "$(daemon_pid)"
check "SIGTERM ends the daemon" wait_until 20 no_daemon
check "SIGTERM unmounts" eval '! is_mounted "$mnt"'
mount_volume
check "SIGTERM flushes first" cmp "$scratch/old" "$mnt/terminated"

cp "$scratch/new" "$mnt/unmounted"
check "umount.dedupfs" unmount_volume
check "umount.dedupfs returns when the daemon has ended" no_daemon
cp -a "$volume" "$scratch/copy" # so the volume can be copied now
volume=$scratch/copy mount_volume
check "a copy of the volume holds everything" cmp "$scratch/new" "$mnt/unmounted"
check "plain fusermount3 -u, then waiting for the daemon" eval \
  'cp "$scratch/old" "$mnt/plain" && fusermount3 -u "$mnt" && wait_until 20 no_daemon "$scratch/copy"'
volume=$scratch/copy
mount_volume
check "makes everything durable, too" cmp "$scratch/old" "$mnt/plain"
check_refused "umount.dedupfs of a mount in use fails" 32 'busy|in use' bash -c "cd '$mnt' && umount.dedupfs '$mnt'"
check "and the mount goes on" cmp "$scratch/old" "$mnt/plain"

# As on a local disk, a signal that a program handles interrupts no system call. With little memory for unstored data, writers wait all the time.
remount dirty=16m
check "a timer interrupts no write" timeout 300 python3 "$here/signalled_writers.py" "$mnt" 4 40
rm "$mnt"/signalled-*
python3 "$here/signalled_writers.py" "$mnt" 4 100000 2>/dev/null &
writer=$!
wait_until 30 test -s "$mnt/signalled-3"
check_equal "four of them write" 4 "$(pgrep -c -P "$writer")"
pkill -9 -P "$writer"
check "writers that are killed end at once" wait_until 10 eval '! pgrep -P "$writer"'
wait "$writer" 2>/dev/null
check "the volume is sound" eval 'unmount_volume && fsck.dedupfs -n --verify-data "$volume"'
finish
