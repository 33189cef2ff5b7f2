#!/usr/bin/env bash
# Reclaim for those who ask for it: space comes back, nothing else goes; it can be watched, paused, stopped; with a mount and
# without one.
. "$(dirname "$0")/lib.sh"

files=24
file_bytes=8000000

disk_bytes() { du -s -B1 "$volume" | cut -f1; }
of_gc() { # EXPRESSION of the object r, at the mount
  dedupfs-gc --status --json "$mnt" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}
# fill SEED: $files files, half of them deleted again; no reclaim begins by itself after it.
fill() {
  dedupfs-gc --pause "$mnt" >/dev/null
  mkdir -p "$mnt/$1" "$scratch/kept/$1"
  local i
  for i in $(seq "$files"); do noise "$1-$i" "$file_bytes" >"$mnt/$1/$i"; done
  commit
  for i in $(seq 1 2 "$files"); do cp "$mnt/$1/$i" "$scratch/kept/$1/$i"; done
  for i in $(seq 2 2 "$files"); do rm "$mnt/$1/$i"; done
  commit
}
kept_bytes() { du -s --apparent-size -B1 "$scratch/kept" | cut -f1; }
same_files() { diff -r "$scratch/kept" "$mnt"; }
within() { python3 -c 'import sys; a, b, part = map(float, sys.argv[1:]); sys.exit(a > b * (1 + part))' "$@"; }
# It rests between two steps, the first of which may still be under way.
at_rest() {
  local i before after
  for i in {1..100}; do
    before=$(of_gc 'r["running"], r["phase"], r["progress_percent"]')
    after=$(of_gc 'r["running"], r["phase"], r["progress_percent"]')
    [[ $after != "(False"* ]] || return 1
    [ "$before" != "$after" ] || return 0
  done
  return 1
}
# What runs is paused before it ends; where it was faster there is something to do again.
paused_reclaim() {
  local seed
  for seed in pause-{1..5}; do
    dedupfs-gc "$mnt" >/dev/null && dedupfs-gc --pause "$mnt" >/dev/null || return 1
    [ "$(of_gc 'r["running"]')" = False ] || return 0
    fill "$seed"
  done
  return 1
}

new_volume
check "without one it says how to start it" eval 'dedupfs-gc --status "$mnt" | grep -q "none since the mount (dedupfs-gc"'
check_refused "who would wait for none is told that none runs" 0 'no reclaim or settling is running' dedupfs-gc --status --wait "$mnt"
check_equal "what does not run has no progress" "None None" "$(of_gc '"%s %s" % (r["progress_percent"], r["seconds_left"])')"
fill first
check_refused "a folder below the mount is refused, with the remedy" 2 "give the mount point of the whole volume, $mnt\$" dedupfs-gc "$mnt/first"
check_equal "and nothing begins" False "$(of_gc 'r["running"]')"
check_refused "so is one within the volume" 2 "give the mount point of the whole volume, $mnt\$" dedupfs-gc "$volume/containers"
before=$(disk_bytes)
check "dedupfs-stat shows garbage, and what to do about it" eval 'dedupfs-stat "$mnt" | grep -q "^Garbage.*of the disk space, run dedupfs-gc"'

check "one can be paused" paused_reclaim
check_equal "which it says" True "$(of_gc 'r["paused"]')"
check "so does dedupfs-stat, with its phase" eval 'dedupfs-stat "$mnt" | grep -Eq "Reclaim paused: (mark|sweep|copy forward) [0-9]+ %"'
check_refused "two at once are too much, and the remedy is named" 2 'runs already, and is paused \(dedupfs-gc --resume\)' dedupfs-gc "$mnt"
check "files can be read and written meanwhile" eval 'same_files && echo new >"$mnt/new" && commit && rm "$mnt/new"'
for signal in INT TERM; do
  dedupfs-gc --status --wait "$mnt" >"$scratch/interrupted" 2>&1 &
  waiting=$!
  # It has a handler of SIGTERM; so has the shell that it begins as.
  wait_until 60 eval 'grep -q dedupfs-gc "/proc/$waiting/comm" && grep -q "^SigCgt:.*[4-7c-f]...$" "/proc/$waiting/status"'
  kill -"$signal" "$waiting"
  wait "$waiting"
  check_equal "who waits can be interrupted by SIG$signal" 3 $?
  check "is told what becomes of it" grep -q "interrupted: the reclaim stays paused in the daemon (--status .* --stop" "$scratch/interrupted"
  check_equal "and it is there still" True "$(of_gc 'r["running"]')"
done
check "one that is paused can be stopped" timeout 90 dedupfs-gc --stop "$mnt"
check_equal "before its end" False "$(of_gc 'r["last"]["complete"]')"
check_equal "which is no failure" None "$(of_gc 'r["last"]["error"]')"
check "which the screen says" eval 'dedupfs-gc --status "$mnt" | grep -q "Last reclaim: stopped after"'
check "the next one is paused again" paused_reclaim
timeout 60 dedupfs-gc --status --wait "$mnt" >"$scratch/waited" 2>&1 &
waiting=$!
check "one that is paused does not go on, once it has come to rest" at_rest
check "until it is told to" dedupfs-gc --resume "$mnt"
wait "$waiting"
check_equal "and who waits is told of its end" 0 $?
check_equal "the end was reached" True "$(of_gc 'r["last"]["complete"]')"
check "dedupfs-stat shows it" eval 'dedupfs-stat "$mnt" | grep -q "Last reclaim: .* freed"'
check "and what was freed" test "$(stat_of freed_bytes)" -gt $((files * file_bytes / 3))

check "one can be awaited" timeout 60 dedupfs-gc --wait "$mnt"
after=$(disk_bytes)
check "half of the files are gone, and so is their space ($before -> $after)" within "$after" "$(kept_bytes)" 0.05
check_equal "the other files are whole" "" "$(same_files)"
remount
check_equal "after a remount, too" "" "$(same_files)"
unmount_volume
check "the volume is sound" fsck.dedupfs -n --verify-data "$volume"

# Without a mount.
mount_volume
fill second
unmount_volume
for action in status pause resume stop; do
  check_refused "--$action needs a mount" 2 'is not mounted' dedupfs-gc --$action "$volume"
done
check_refused "a volume that somebody else has is refused" 2 'in use' flock "$volume/lock" dedupfs-gc "$volume"
dedupfs-gc "$volume" >"$scratch/stopped" 2>&1 &
pid=$!
# It has the lock. Who tried to take it for a moment might be why it does not get it.
wait_until 60 grep -q "FLOCK .*:$(stat -c %i "$volume/lock") " /proc/locks
kill -TERM "$pid"
wait "$pid"
check_equal "SIGTERM stops it in good order" 3 $?
check "which it says" grep -q "Last reclaim: stopped after" "$scratch/stopped"
check "progress is shown on a terminal" eval 'script -qec "dedupfs-gc $volume" /dev/null </dev/null | grep -aq "Reclaim running: "'
check "after the end it reclaims nothing more" eval 'dedupfs-gc --json "$volume" | python3 -c "
import json, sys
r = json.load(sys.stdin)
assert r[\"last\"][\"complete\"] and r[\"last\"][\"erased_chunks\"] == 0, r"'
after=$(disk_bytes)
check "the space is back ($after)" within "$after" "$(kept_bytes)" 0.05
check "the volume is sound" fsck.dedupfs -n --verify-data "$volume"
mount_volume
check_equal "what is left is whole" "" "$(same_files)"

# Read-only.
unmount_volume
mount_volume ro
check_refused "a read-only mount is refused, with the remedy" 2 'read-only; mount it for writing' dedupfs-gc "$mnt"
check "dedupfs-stat shows no reclaims there" eval '! dedupfs-stat "$mnt" | grep -q "eclaim:"'
remount

# All of it.
rm -rf "$scratch/kept"
dedupfs-gc --pause "$mnt" >/dev/null
rm -r "${mnt:?}"/*
commit
check "everything can be reclaimed" timeout 60 dedupfs-gc --wait "$mnt"
check "next to nothing is left of a volume ($before -> $(disk_bytes))" test $(($(disk_bytes) * 50)) -le "$before"
unmount_volume
check "nor when it is unmounted ($(disk_bytes))" test $(($(disk_bytes) * 50)) -le "$before"
check "it is sound" fsck.dedupfs -n --verify-data "$volume"
mount_volume
echo again >"$mnt/again"
check "and can be used" remount
check_equal "as ever" again "$(cat "$mnt/again")"

check_refused "a path is needed" 1 'required' dedupfs-gc
check_refused "one thing at a time" 1 'at most 1' dedupfs-gc --pause --resume "$mnt"
check_refused "nobody waits for what is paused" 1 'excludes' dedupfs-gc --pause --wait "$mnt"
check_refused "unknown options are refused" 1 'fast' dedupfs-gc --fast "$mnt"
check_refused "something else is no volume" 2 'not a dedupfs volume' dedupfs-gc "$scratch"
check_refused "nor is what is not there" 2 'no such file' dedupfs-gc "$scratch/none"
unmount_volume
finish
