#!/usr/bin/env bash
# The scrub of a mounted volume: it finds damage that nobody has read, says so everywhere, and what is written again heals it.
. "$(dirname "$0")/lib.sh"

scrub_of() { # KEY: of the last scrub
  dedupfs-scrub --status --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["last"][sys.argv[1]])' "$1"
}

files_of() {
  dedupfs-scrub --status --json "$mnt" | python3 -c 'import json, sys
last = json.load(sys.stdin)
print(json.dumps({"files": last["damaged_files"], "more": last["more_damaged_files"]}, separators=(",", ":")))'
}

new_volume
noise 1 20000000 >"$scratch/noise"
cp "$scratch/noise" "$mnt/file"
commit
check "a scrub that never was is said not to have been" eval 'dedupfs-stat "$mnt" | grep -q "Last scrub: never"'
mkdir "$mnt/folder"
check_refused "a folder below the mount is refused, with the remedy" 2 "give the mount point of the whole volume, $mnt\$" dedupfs-scrub "$mnt/folder"
check "a sound volume is sound" dedupfs-scrub --wait --rate 0 "$mnt"
check "all of it was read" test "$(scrub_of checked_bytes)" -ge 20000000
check_equal "to its end" True "$(scrub_of complete)"
check "dedupfs-stat shows it" eval 'dedupfs-stat "$mnt" | grep -q "Last scrub: 20.*no damage"'

# Slowly, so that it is there to be looked at and stopped.
check "one starts in the background" dedupfs-scrub --rate 100k "$mnt"
check "dedupfs-stat shows how far it is" eval 'dedupfs-stat "$mnt" | grep -q "Scrub running: [0-9]* %"'
check_refused "two at once are too much" 2 'runs already' dedupfs-scrub "$mnt"
check "it can be stopped" dedupfs-scrub --stop "$mnt"
check_equal "before its end" False "$(scrub_of complete)"
check "the volume can be unmounted during one" eval 'dedupfs-scrub --rate 100k "$mnt" && remount'
check "it goes on at the next mount" eval 'dedupfs-stat "$mnt" | grep -q "Scrub running: .*at most 100.00 KiB/s"'
check "and ends sooner without a limit" eval 'dedupfs-scrub --set-rate 0 "$mnt" && dedupfs-scrub --status --wait "$mnt"'
check_equal "it has looked at everything" True "$(scrub_of complete)"

unmount_volume
container=$(find "$volume/containers" -type f -size +10M | sort | head -n 1)
python3 - "$container" <<'PY'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(5000000)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 4]))
PY
mount_volume "log=$scratch/scrub.log"
check_refused "damage is found" 4 'DAMAGED CHUNKS' dedupfs-scrub --wait --rate 0 "$mnt"
check "counted" test "$(scrub_of damaged_chunks)" -ge 1
check "and logged with its container" grep -q "scrub: .*$(basename "$container")" "$scratch/scrub.log"
check "the file is named" grep -q "scrub: damaged: /file$" "$scratch/scrub.log"
check_refused "by the tool, too" 4 "Damaged: /file" dedupfs-scrub --status "$mnt"
check_equal "and in its JSON" '{"files":["/file"],"more":0}' "$(files_of)"
getfattr --only-values -n dedupfs.health "$mnt" >"$scratch/health" 2>/dev/null
check "everybody may ask how many chunks are damaged" grep -q damaged_chunks "$scratch/health"
check "but not for the names of files" eval '! grep -q damaged_files "$scratch/health"'
remount
check_refused "the next mount knows of it" 4 'DAMAGED CHUNKS' dedupfs-scrub --status "$mnt"
check_equal "but not of the names, which the log has" '{"files":null,"more":null}' "$(files_of)"
check "the chunks are remembered" test "$(stat_of damaged_chunks)" -ge 1
cp "$scratch/noise" "$mnt/again"
commit
check_equal "what is written again is healed" 0 "$(stat_of damaged_chunks)"
check "the file that nobody had read is whole" cmp "$mnt/file" "$scratch/noise"
check "the next scrub finds all sound" dedupfs-scrub --wait --rate 0 "$mnt"
check_equal "and names no file" '{"files":[],"more":0}' "$(files_of)"

printf 'x' | dd of="$volume/superblock.copy.json" bs=1 seek=20 conv=notrunc status=none
check_refused "a damaged copy of the superblock is found" 4 '1 other' dedupfs-scrub --wait --rate 0 "$mnt"
unmount_volume
mount_volume
check "the next mount writes it anew" dedupfs-scrub --wait --rate 0 "$mnt"
check_refused "a rate must be one" 1 'not a size' dedupfs-scrub --rate fast "$mnt"
check_refused "something else is no volume" 2 'not a dedupfs volume' dedupfs-scrub "$scratch"
unmount_volume
check_refused "a volume must be mounted" 2 'not mounted' dedupfs-scrub "$volume"
finish
