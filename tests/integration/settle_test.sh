#!/usr/bin/env bash
# Two-speed storage for those who use it: what landed becomes smaller on request and when the mount is idle, also without a mount;
# no byte changes; the tools say what is left.
. "$(dirname "$0")/lib.sh"

of_stat() { # KEY
  dedupfs-stat --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}
has_landed() { [ "$(of_stat landed_bytes)" -gt 1000000 ]; }
all_settled() { [ "$(of_stat landed_bytes)" -eq 0 ]; }
words() { # SEED BYTES: text that strong compression makes smaller than quick compression does
  python3 -c 'import random, sys
draw = random.Random(sys.argv[1])
words = [draw.randbytes(draw.randint(2, 7)) for _ in range(3000)]
left = int(sys.argv[2])
while left > 0:
    piece = b"".join(draw.choices(words, k=10000))[:left]
    sys.stdout.buffer.write(piece)
    left -= len(piece)' "$@"
}

new_volume
unmount_volume
mount_volume settle=off,slow_source=0
words first 20000000 >"$scratch/first"
cp "$scratch/first" "$mnt/first"
commit
check "new data lands" has_landed
check "dedupfs-stat says how much, and the remedy" eval 'dedupfs-stat "$mnt" | grep -q "^Landed.*dedupfs-gc --settle"'
before=$(of_stat disk_bytes)
is_smaller() { [ "$(of_stat disk_bytes)" -lt "$before" ]; }
check "it is settled on request" dedupfs-gc --settle --wait "$mnt"
check "nothing is left to settle" all_settled
check "it takes less space" is_smaller
check "dedupfs-gc says what it did" eval 'dedupfs-gc --status "$mnt" | grep -q "^Last settling: .* settled, stored in "'
check "no byte changed" cmp "$scratch/first" "$mnt/first"

words again 20000000 >"$mnt/again"
check "what was written just before is settled, too" dedupfs-gc --settle --wait "$mnt"
check "nothing is left to settle" all_settled

words second 20000000 >"$scratch/second"
cp "$scratch/second" "$mnt/second"
umount.dedupfs "$mnt" >"$scratch/said" 2>&1
check "the unmount says what is not settled, and the remedy" \
  grep -q "of new data is not settled yet.*dedupfs-gc --settle $volume" "$scratch/said"
check "a volume that is not mounted is settled" dedupfs-gc --settle "$volume"
mount_volume settle=idle,slow_source=0
check "nothing is left to settle" all_settled
check "no byte changed" cmp "$scratch/second" "$mnt/second"

words third 120000000 >"$scratch/third"
cp "$scratch/third" "$mnt/third"
check "while nobody uses the mount it is settled without being asked" wait_until 120 all_settled
check "no byte changed" cmp "$scratch/third" "$mnt/third"

unmount_volume
mount_volume settle=off
cp "$scratch/first" "$mnt/copy"
words fourth 2000000 >"$mnt/fourth"
commit
check "what comes slowly is settled at once" all_settled
unmount_volume
check "the volume is sound" fsck.dedupfs -n "$volume"
finish
