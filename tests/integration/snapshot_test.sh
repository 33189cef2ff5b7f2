#!/usr/bin/env bash
# Snapshots and clones for those who ask for them, on a mount: they are made at once, show what was there, cannot be changed, and
# going back to one reaches everybody who looks.
. "$(dirname "$0")/lib.sh"

names() { dedupfs-snapshot list --json "$1" | python3 -c 'import json, sys; print(*[s["name"] for s in json.load(sys.stdin)["snapshots"]])'; }
in_chunks() { dedupfs-gc --wait "$mnt" >/dev/null && dedupfs-stat --json "$mnt" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["unique_chunks"] + r["snapshot_only_chunks"], r["stored_bytes"] + r["snapshot_only_bytes"])'; }

new_volume
mkdir -p "$mnt/d/below"
noise 1 3000000 >"$mnt/d/file"
echo short >"$mnt/d/below/short"
ln "$mnt/d/file" "$mnt/d/below/link"
cp -a "$mnt/d" "$scratch/monday"
check "a snapshot is made" dedupfs-snapshot create "$mnt" monday
noise 2 3000000 >"$mnt/d/file"
rm "$mnt/d/below/short"
mkdir "$mnt/later"
check_equal "it shows what there was" "" "$(diff -r "$scratch/monday" "$mnt/.snapshots/monday/d")"
check_equal "all of it" "d" "$(ls -A "$mnt/.snapshots/monday")"
check_equal "no listing shows the directory of the snapshots" "$(printf 'd\nlater')" "$(ls -A "$mnt")"
check_refused "nothing of it can be written" 1 'read-only file system' bash -c 'echo x >"$1/.snapshots/monday/d/file"' _ "$mnt"
check_refused "nor removed" 1 'read-only file system' rm "$mnt/.snapshots/monday/d/file"
check_refused "nor added" 1 'read-only file system' mkdir "$mnt/.snapshots/monday/x"
check_refused "the directory of the snapshots cannot be removed" 1 'not permitted|busy' rmdir "$mnt/.snapshots"
check_refused "a name that is there is refused" 2 "there is a snapshot 'monday' already" dedupfs-snapshot create "$mnt" monday
check_refused "and one that cannot be" 2 'cannot name a snapshot' dedupfs-snapshot create "$mnt" a/b
check_refused "so is one that is not there" 2 "no snapshot 'never'" dedupfs-snapshot delete "$mnt" never
check_refused "deleting none is a mistake" 1 'name the snapshots' dedupfs-snapshot delete "$mnt"
check "one without a name is named after the time" dedupfs-snapshot create "$mnt"
check_equal "it is in the list" "2" "$(dedupfs-snapshot list "$mnt" | wc -l)"
check_refused "one without rules deletes nothing" 0 '^would create tuesday$' dedupfs-snapshot create "$mnt" tuesday --dry-run
check_refused "nor makes one of an illegal name" 2 "'a/b' cannot name a snapshot" dedupfs-snapshot create "$mnt" a/b --dry-run
check_refused "nor makes one that is there" 2 "there is a snapshot 'monday' already" dedupfs-snapshot create "$mnt" monday --dry-run
check_equal "nothing was made, nothing went" 2 "$(dedupfs-snapshot list "$mnt" | wc -l)"
check_refused "if one to delete is missing, it is named" 2 "no snapshot 'never'; none was deleted" dedupfs-snapshot delete "$mnt" monday never
check_equal "and none goes" 2 "$(dedupfs-snapshot list "$mnt" | wc -l)"
check "one that is named twice goes once" eval 'dedupfs-snapshot create "$mnt" twice && dedupfs-snapshot delete "$mnt" twice twice'

# --- sets, each with a policy of its own
hours() { dedupfs-snapshot list --quick "$mnt" | grep -c '_hourly$'; }
for hour in 01 02 03; do dedupfs-snapshot create "$mnt" "2026-11-28_$hour-00-00_hourly" 2>/dev/null; done
others=$(names "$mnt" | wc -w)
check_refused "a policy that names no set is refused" 1 'say with --set which snapshots' dedupfs-snapshot create "$mnt" --keep-last 1
check "a dry run with a policy" eval 'dedupfs-snapshot create "$mnt" --set hourly --keep-last 3 --dry-run 2>"$scratch/dry"'
check_equal "says what would be made and what would go" "$(printf 'would create TIME_hourly\nwould delete 2026-11-28_01-00-00_hourly')" \
  "$(sed '1s/ 20.*_/ TIME_/' "$scratch/dry")"
check_refused "one of another policy of the same set says what it does" 0 'note: 2 of 3 to delete were kept by another policy of the set' \
  dedupfs-snapshot create "$mnt" --set hourly --keep-last 1 --dry-run
check "the job of each night makes one of its set" dedupfs-snapshot create "$mnt" --set nightly --keep-last 1
check_equal "and deletes nothing of others" $((others + 1)) "$(names "$mnt" | wc -w)"
check "the job of each hour deletes its own" dedupfs-snapshot create "$mnt" --set hourly --keep-last 3
check_equal "which are as many as its policy keeps" 3 "$(hours)"
check_equal "and nothing else" $((others + 1)) "$(names "$mnt" | wc -w)"
check_refused "a set that nothing is in is named" 0 "the set 'nigthly' has no snapshots" \
  dedupfs-snapshot delete "$mnt" --set nigthly --keep-last 1
check "they go without a new one, too" dedupfs-snapshot delete "$mnt" --set hourly --keep-last 1
check_equal "down to one" 1 "$(hours)"
for name in $(names "$mnt"); do case $name in *_hourly | *_nightly) dedupfs-snapshot delete "$mnt" "$name" 2>/dev/null ;; esac; done

for action in "create x" "list" "delete monday" "rollback monday"; do
  read -r verb name <<<"$action"
  check_refused "$verb of a folder below the mount is refused, with the remedy" 2 "give the mount point of the whole volume, $mnt\$" \
    dedupfs-snapshot "$verb" "$mnt/d" ${name:+"$name"}
done
check "find, du and tar see snapshots as folders" eval 'tar -C "$mnt/.snapshots/monday" -cf - . | tar -tf - | grep below/short && du -s "$mnt/.snapshots/monday" >/dev/null'

# --- what changed
echo more >>"$mnt/d/below/link" # a name of d/file
mv "$mnt/later" "$mnt/d/renamed"
touch "$mnt/d/$(printf 'odd\377\n')"
check_equal "a diff lists what changed since a snapshot" \
  "$(printf '%s\n' '- d/below/short' 'M d/below/link  (content, mtime)' '+ d/odd\377' '+ d/renamed' 'M .  (mtime)' | sort)" \
  "$(dedupfs-snapshot diff "$mnt" monday | sed 's/^M d.file /M d\/below\/link /' | sort)"
check "its JSON is valid whatever the names are" eval 'dedupfs-snapshot diff --json "$mnt" monday now | python3 -c "
import json, sys
paths = {bytes.fromhex(c[\"path_hex\"]) for c in json.load(sys.stdin)[\"changes\"] if \"path_hex\" in c}
sys.exit(paths != {b\"d/odd\\xff\"})"'
check_refused "the present has no name of a snapshot" 2 'stands for the present' dedupfs-snapshot create "$mnt" now
mv "$mnt/d/renamed" "$mnt/later"
rm "$mnt/d/"odd*
noise 2 3000000 >"$mnt/d/file"

# What was written through a mapping and not synced is in a snapshot, too.
python3 - "$mnt/mapped" <<'PY'
import mmap, os, subprocess, sys
path = sys.argv[1]
with open(path, "wb") as file:
    file.truncate(8192)
with open(path, "r+b") as file:
    with mmap.mmap(file.fileno(), 8192) as mapping:
        mapping[:6] = b"mapped"
        subprocess.run(["dedupfs-snapshot", "create", os.path.dirname(path), "mapping"], check=True, stderr=subprocess.DEVNULL)
PY
check_equal "what was written through a mapping is in it" mapped "$(head -c 6 "$mnt/.snapshots/mapping/mapped")"
rm "$mnt/mapped"
dedupfs-snapshot delete "$mnt" mapping 2>/dev/null

# --- going back
cat "$mnt/d/file" >/dev/null # so that the kernel has its pages
exec 7<"$mnt/d/file"
check_refused "not while a file is open" 2 "' is open" dedupfs-snapshot rollback "$mnt" monday
exec 7<&-
check "going back to it" dedupfs-snapshot rollback "$mnt" monday
check_equal "names and content are those of then" "" "$(diff -r "$scratch/monday" "$mnt/d")"
check_equal "sizes and times, too" "$(stat -c '%s %Y %h' "$scratch/monday/file")" "$(stat -c '%s %Y %h' "$mnt/d/file")"
check_equal "what came later is gone" d "$(ls -A "$mnt")"
check "the other snapshot stays" eval 'ls -d "$mnt/.snapshots"/2*/later'

# --- clones
check "a clone of a folder" dedupfs-clone "$mnt/d" "$mnt/clone"
check_equal "has all of it" "" "$(diff -r "$mnt/d" "$mnt/clone")"
check_equal "hard links within it are its own" 2 "$(stat -c %h "$mnt/clone/file")"
check "a clone into a folder that is there" eval 'dedupfs-clone "$mnt/d/file" "$mnt/clone/below" && cmp "$mnt/d/file" "$mnt/clone/below/file"'
check_refused "not over what is there" 2 'is there already' dedupfs-clone "$mnt/d/file" "$mnt/clone/below"
check_refused "nor into itself" 2 'into itself' dedupfs-clone "$mnt/d" "$mnt/d/below/x"
check_refused "nor out of the volume" 2 'not in the same volume' dedupfs-clone "$mnt/d" "$scratch/x"
check_refused "nor from elsewhere" 2 'not in a mounted dedupfs volume' dedupfs-clone "$scratch/monday" "$mnt/x"
check "a folder of a snapshot is restored by a clone" eval 'dedupfs-clone "$mnt/.snapshots/monday/d" "$mnt/restored" && diff -r "$scratch/monday" "$mnt/restored"'

# --- who may enter
if is_root; then
  read_old() { as_nobody cat "$mnt/.snapshots/monday/d/below/short"; }
  chmod 755 "$mnt"
  check_refused "others than the owner of the root folder do not enter" 1 'denied' read_old
  check_refused "nor see the names" 2 'denied' as_nobody ls "$mnt/.snapshots"
  chown 65534 "$mnt"
  check "the owner does, from when he is it" read_old
  chown 0 "$mnt"
  check_refused "and no longer" 1 'denied' read_old
  remount snapshots=visible
  check "with snapshots=visible others enter" read_old
  remount snapshots=hidden
  check_refused "with snapshots=hidden nobody does" 1 'no such file' cat "$mnt/.snapshots/monday/d/below/short"
  check "and the name is free" eval 'mkdir "$mnt/.snapshots" && rmdir "$mnt/.snapshots"'
  check "snapshots are listed" eval 'names "$mnt" | grep -q monday'
  remount noallow_other
  check "where others cannot reach the mount, its user enters" cat "$mnt/.snapshots/monday/d/below/short"
  remount
fi

# --- space: exact to the chunk
rm -r "$mnt/clone" "$mnt/restored"
for name in $(names "$mnt"); do dedupfs-snapshot delete "$mnt" "$name" 2>/dev/null; done
check_equal "all can be deleted" "" "$(names "$mnt")"
before=$(in_chunks)
dedupfs-snapshot create "$mnt" empty 2>/dev/null
noise 3 3000000 >"$mnt/d/file"
dedupfs-snapshot create "$mnt" full 2>/dev/null
dedupfs-clone "$mnt/d" "$mnt/clone" >/dev/null
rm -r "$mnt/clone"
noise 1 3000000 >"$mnt/d/file"
check "what only a snapshot has is shown" eval 'commit && dedupfs-stat -v "$mnt" | grep -Eq "^\+ snapshots +2\.[89]. MiB  [0-9]+ chunks that only the 2 snapshots have"'
check "reclaim leaves it alone" eval 'dedupfs-gc --wait "$mnt" >/dev/null && cmp "$mnt/.snapshots/full/d/file" <(noise 3 3000000)'
dedupfs-snapshot delete "$mnt" empty full 2>/dev/null
check_equal "after its deletion everything comes back" "$before" "$(in_chunks)"

# --- without a mount
unmount_volume
check "one is made of a volume that is not mounted" dedupfs-snapshot create "$volume" offline
check_equal "and listed" offline "$(names "$volume")"
mount_volume
echo x >"$mnt/x"
unmount_volume
check "going back without a mount" dedupfs-snapshot rollback "$volume" offline
mount_volume
check_equal "undoes it" d "$(ls -A "$mnt")"
unmount_volume
mount_volume ro
check_equal "a read-only mount shows them" offline "$(ls "$mnt/.snapshots")"
check_refused "but makes none" 2 'read-only' dedupfs-snapshot create "$mnt" x
unmount_volume

# --- holds
mount_volume
check "a snapshot is held until a date" dedupfs-snapshot hold "$mnt" offline --until 30d
check_refused "nobody releases it before" 2 'held until .* for another 30 days' dedupfs-snapshot release "$mnt" offline
check_refused "nor deletes it" 2 "'offline' is held until" dedupfs-snapshot delete "$mnt" offline
dedupfs-snapshot create "$mnt" 2026-11-28_01-00-00_hourly 2>/dev/null
dedupfs-snapshot hold "$mnt" 2026-11-28_01-00-00_hourly 2>/dev/null
check_refused "a policy passes one over that is held" 0 'kept 2026-11-28_01-00-00_hourly: held until' \
  dedupfs-snapshot create "$mnt" --set hourly --keep-last 1
dedupfs-snapshot create "$mnt" newer 2>/dev/null
check "one without a date is held until it is released" eval 'dedupfs-snapshot hold "$mnt" newer &&
  ! dedupfs-snapshot delete "$mnt" newer && dedupfs-snapshot release "$mnt" newer && dedupfs-snapshot delete "$mnt" newer'
unmount_volume
check_refused "without a mount it is held, too" 2 "'offline' is held until" dedupfs-snapshot delete "$volume" offline
check "fsck finds nothing" fsck.dedupfs -n "$volume"
finish
