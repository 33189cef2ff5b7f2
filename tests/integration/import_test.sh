#!/usr/bin/env bash
# dedupfs-import copies the archives of real repositories of borg and restic: each is a folder and a snapshot with the archive's date,
# and keeps what the program keeps. An import that was interrupted goes on.
. "$(dirname "$0")/lib.sh"

export TZ=UTC BORG_BASE_DIR=$scratch/borg BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
export RESTIC_PASSWORD=secret RESTIC_CACHE_DIR=$scratch/restic-cache

new_volume
mkdir "$mnt/in"

# On the mount itself, since not each disk of a machine has attributes and ACLs.
source=$mnt/source
mkdir -p "$source/folder"
noise 1 2000000 >"$source/folder/big"
ln "$source/folder/big" "$source/second name"
ln -s folder/big "$source/link"
mkfifo "$source/pipe"
echo first >"$source/file"
setfattr -n user.note -v value "$source/file"
setfacl -m u:1234:rw,m::rw "$source/file"
setfacl -m d:g:4321:rx "$source/folder"
if is_root; then
  chown 1234:4321 "$source/file"
  mknod "$source/device" c 1 3
fi
touch -d '2001-02-03 04:05:06' "$source/folder/big" "$source/file"
cp -a "$source" "$scratch/first"
# same_archive NAME EXPECTED FOLDER: but for the times of folders that were changed on the way.
same_archive() {
  if [ "$(id -u)" -ne 0 ]; then rm -f "$2/device" "$3/device"; fi
  touch -d @0 "$2" "$3" && same_tree "$1" "$2" "$3"
}

# Borg 1 would end with a traceback. These are the files by which a repository of borg 2 is known.
mkdir -p "$scratch/borg2/config" "$scratch/borg2/packs"
printf 4 >"$scratch/borg2/config/version"
check_refused "a repository of borg 2 is refused, with what to do instead" 2 'is a repository of borg 2.*extract ARCHIVE' \
  dedupfs-import borg "$scratch/borg2" --into "$mnt/in"
check_equal "in one line" 1 "$(dedupfs-import borg "$scratch/borg2" --into "$mnt/in" 2>&1 | wc -l)"
check_refused "so is a folder that is no repository" 2 'is no repository of restic' dedupfs-import restic "$scratch/borg2/packs" --into "$mnt/in"

if command -v borg >/dev/null; then
  (cd "$mnt" && borg init -e none "$scratch/repo" && borg create --timestamp 2024-03-01T02:00:00 "$scratch/repo::monday" source) \
    >"$scratch/borg.log" 2>&1 || fail "a borg repository" "$(tail -n 2 "$scratch/borg.log")"
  cp -a "$source" "$scratch/second"
  echo second | tee "$source/file" >"$scratch/second/file"
  (cd "$mnt" && borg create --timestamp 2024-03-02T02:00:00 "$scratch/repo::tuesday" source) >>"$scratch/borg.log" 2>&1

  check "one archive is imported" dedupfs-import borg "$scratch/repo" --into "$mnt/in" --archive monday
  same_archive "with all that borg keeps" "$scratch/first" "$mnt/in/monday/source"
  check_equal "its folder has its time" 2024-03-01 "$(date -r "$mnt/in/monday" +%F)"
  snapshot="$mnt/.snapshots/2024-03-01_02-00-00_monday"
  check_equal "there is a snapshot of it" first "$(cat "$snapshot/in/monday/source/file" 2>&1)"
  check_equal "with its date" 2024-03-01T02:00:00Z \
    "$(dedupfs-snapshot list --json --quick "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["snapshots"][0]["created"])')"
  # What a run leaves that was killed.
  mkdir -p "$mnt/in/.dedupfs-import/source"
  echo half >"$mnt/in/.dedupfs-import/source/half"
  check "the rest follows" eval 'dedupfs-import borg "$scratch/repo" --into "$mnt/in" 2>"$scratch/said"'
  check_equal "without those that are there" "there already: monday imported: tuesday" "$(grep '^there\|^imported' "$scratch/said" | xargs)"
  would_delete() { dedupfs-snapshot create "$mnt" --dry-run "$@" 2>&1 | grep delete; }
  check_equal "a retention policy deletes none of them" "" "$(would_delete --set nightly --keep-last 1)"
  check_equal "but one for a set of that name, which takes them for as old as they are" "would delete 2024-03-01_02-00-00_monday" \
    "$(would_delete --set monday --keep-daily 1)"
  check_equal "the second archive is as it was" second "$(cat "$mnt/in/tuesday/source/file")"
  check "nothing is left of the half one" eval '[ ! -e "$mnt/in/.dedupfs-import" ] && [ ! -e "$mnt/in/tuesday/source/half" ]'
  dedupfs-snapshot delete "$mnt" 2024-03-01_02-00-00_monday 2>/dev/null
  check "a snapshot that was deleted is not made again" eval \
    'dedupfs-import borg "$scratch/repo" --into "$mnt/in" 2>/dev/null && [ ! -e "$snapshot" ]'

  mkdir "$mnt/other"
  mkdir "$mnt/other/monday"
  check_refused "a folder of another origin is left alone" 3 'monday is something else' \
    dedupfs-import borg "$scratch/repo" --into "$mnt/other" --archive monday
  check_refused "an archive that is not there is named" 2 "no archive 'wednesday'" \
    dedupfs-import borg "$scratch/repo" --into "$mnt/in" --archive wednesday
  check_refused "so is a place outside of a mount" 2 'not in a mounted dedupfs volume' \
    dedupfs-import borg "$scratch/repo" --into "$scratch" --archive monday
  check_refused "and a repository that is none" 2 'borg ended with status' dedupfs-import borg "$scratch/none" --into "$mnt/in"
  segment=$(find "$scratch/repo/data" -type f -size +1M | head -n 1)
  printf x | dd of="$segment" bs=1 seek=1000000 conv=notrunc status=none
  mkdir "$mnt/again"
  check_refused "a damaged archive is not taken for whole" 3 'monday: borg ended with status' \
    dedupfs-import borg "$scratch/repo" --into "$mnt/again" --archive monday
  check "and no folder of it is left" test ! -e "$mnt/again/monday"
else
  skip "borg" "the package borgbackup is not installed"
fi

if command -v restic >/dev/null; then
  cp -a --remove-destination "$scratch/first/file" "$source/file"
  (cd "$mnt" && restic init -q -r "$scratch/restic" && restic backup -q -r "$scratch/restic" --host laptop --time '2024-03-01 02:00:00' source) \
    >"$scratch/restic.log" 2>&1 || fail "a restic repository" "$(tail -n 2 "$scratch/restic.log")"
  id=$(restic -r "$scratch/restic" snapshots --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["short_id"])')
  check "a snapshot of restic is imported" dedupfs-import restic "$scratch/restic" --into "$mnt/in"
  same_archive "with all that restic keeps" "$scratch/first" "$mnt/in/laptop-$id/source"
  taken=$(date -u -d '2024-03-01 02:00:00' +%Y-%m-%d_%H-%M-%S)
  check "there is a snapshot with its date" test -e "$mnt/.snapshots/${taken}_laptop-$id/in/laptop-$id/source/file"

  # What is left after a disaster: a disk that is mounted read-only, and one pack of many that is damaged.
  mkdir "$scratch/many"
  for number in $(seq 40); do noise "$number" 400000 >"$scratch/many/f$number"; done
  (cd "$scratch" && restic backup -q -r "$scratch/restic" --host prod/db many) >"$scratch/restic.log" 2>&1 ||
    fail "a restic repository" "$(tail -n 2 "$scratch/restic.log")"
  pack=$(find "$scratch/restic/data" -type f -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
  chmod u+w "$pack"
  head -c 8 /dev/zero | dd of="$pack" bs=1 seek=5000 conv=notrunc status=none
  if is_root; then
    mkdir "$scratch/read-only"
    mount --bind "$scratch/restic" "$scratch/read-only" && mount -o remount,ro,bind "$scratch/read-only"
  else
    ln -s restic "$scratch/read-only"
  fi
  check_refused "a damaged archive counts as failed" 3 'restic ended with status 1, warnings; --accept-warnings takes it' \
    dedupfs-import restic "$scratch/read-only" --into "$mnt/in"
  check "and is kept if that is wished, from a disk that cannot be written to" eval \
    'dedupfs-import restic "$scratch/read-only" --into "$mnt/in" --accept-warnings 2>"$scratch/said" && grep -q "^imported, with warnings: prod_db-" "$scratch/said"'
  check "with all that could be read" test "$(find "$mnt/in" -path '*/prod_db-*/many/f*' -size 400000c | wc -l)" -ge 30
else
  skip "restic" "the package restic is not installed"
fi

finish
