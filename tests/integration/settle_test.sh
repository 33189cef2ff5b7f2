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

# One that takes its time can be watched, paused, and stopped.
words slow 20000000 >"$mnt/slow"
commit
of_job() { # KEY
  dedupfs-gc --status --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}
check "a settling begins in the background" dedupfs-gc --settle --rate 200k "$mnt"
has_moved() { [ "$(dedupfs-gc --status --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["current"]["stored_bytes"])')" -gt 0 ]; }
check "it moves data" wait_until 60 has_moved
check "it says how far it is" eval 'dedupfs-gc --status "$mnt" | grep -q "^Settling running: .* %"'
check_refused "a second one is refused, by its name" 2 'a settling of this volume runs already' dedupfs-gc --settle "$mnt"
check "it can be paused" dedupfs-gc --pause "$mnt"
check_equal "and is" True "$(of_job paused)"
check_equal "then nobody knows how long it takes" None "$(of_job seconds_left)"
check "what it has moved is not said to be deleted" eval 'dedupfs-stat "$mnt" | grep -q "^Garbage .*has moved"'
check "it goes on" dedupfs-gc --resume "$mnt"
check "it can be stopped" dedupfs-gc --stop "$mnt"
check_equal "and has ended" False "$(of_job running)"
check "the rest is settled by the next one" dedupfs-gc --settle --wait --rate 0 "$mnt"
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

# Settling writes containers, and the gathering behind it empties some of these.
rm -rf "$volume"
mkfs.dedupfs --chunker fixed:size=1k "$volume" >/dev/null
words generations 200000 >"$scratch/generation"
for number in 1 2 3 4 5 6; do
  mount_volume settle=off,slow_source=0
  cp "$scratch/generation" "$mnt/generation-$number"
  unmount_volume
  python3 -c 'import random, sys
draw = random.Random(int(sys.argv[2]))
with open(sys.argv[1], "r+b") as content:
    for place in range(draw.randrange(3), 190, 3):
        content.seek(place * 1024 + draw.randrange(900))
        content.write(b"%d" % draw.randrange(10**9))' "$scratch/generation" "$number"
done
dedupfs-gc --settle "$volume" >"$scratch/said"
check "the garbage that it leaves is counted once" grep -Eq ', ([0-9]+ B|[0-9.]+ KiB) of garbage left' "$scratch/said"
finish
