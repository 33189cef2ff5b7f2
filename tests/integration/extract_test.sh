#!/usr/bin/env bash
# dedupfs-extract gives what the mount shows: into a folder and as an archive that tar and bsdtar read, for another user, with the
# index removed, and past damage. It changes nothing in the volume.
. "$(dirname "$0")/lib.sh"

# What is there, without times of access.
state_of() { find "$1" -printf '%P %y %s %m %u %T@ %C@ %n\n' | sort; find "$1" -type f -exec sha256sum {} + | sort; }

# same_below NAME A B: as same_tree, but for the time of the folder itself, which no extraction restores.
same_below() {
  touch -d @0 "$2" "$3"
  same_tree "$@"
}

# A tree with everything that a copy must keep.
new_volume
remount "$(is_root && echo allow_other,)snapshots=visible"
mkdir -p "$mnt/docs/deep/er" "$mnt/private" "$mnt/from"
noise 1 3000000 >"$mnt/docs/big"
echo small >"$mnt/docs/small"
ln "$mnt/docs/big" "$mnt/docs/deep/big too"
ln -s /etc/passwd "$mnt/docs/absolute"
ln -s ../../docs "$mnt/docs/deep/up"
mkfifo -m 640 "$mnt/docs/pipe"
truncate -s 50M "$mnt/docs/hole"
printf middle | dd of="$mnt/docs/hole" bs=1 seek=20000000 conv=notrunc status=none
touch "$mnt/docs/deep/er/$(printf 'odd\n\001 \377 name')"
setfattr -n user.note -v value "$mnt/docs/small" "$mnt/docs/deep"
setfacl -m u:1234:rw,m::rw "$mnt/docs/small"
setfacl -m d:g:4321:rx "$mnt/docs/deep"
chmod 750 "$mnt/private"
echo secret >"$mnt/private/file"
chmod 600 "$mnt/private/file"
if is_root; then
  mknod "$mnt/docs/device" c 1 3
  chown 1234:4321 "$mnt/docs/small" "$mnt/private" "$mnt/private/file"
  chmod u+s "$mnt/docs/small"
  setfattr -n trusted.mark -v yes "$mnt/docs/small"
fi
touch -d '2001-02-03 04:05:06.789' "$mnt/docs/big" "$mnt/docs" "$mnt/private"
touch -h -d '2002-02-03' "$mnt/docs/absolute"
dedupfs-snapshot create "$mnt" first 2>/dev/null
mkdir "$scratch/shown"
cp -a --sparse=always "$mnt/docs" "$mnt/private" "$mnt/from" "$scratch/shown"
echo changed >"$mnt/docs/small"
rm "$mnt/docs/big"

check_refused "a mounted volume is refused, with the remedy" 2 'copy the files from the mount' dedupfs-extract --list "$volume"
unmount_volume
state_of "$volume" >"$scratch/before"

check "everything in a snapshot is extracted" dedupfs-extract --snapshot first -o "$scratch/out" "$volume"
same_below "and is what the mount showed" "$scratch/shown" "$scratch/out"
check "holes stay holes" test "$(stat -c %b "$scratch/out/docs/hole")" -lt 2000
check "the files of now are extracted without it" eval \
  'dedupfs-extract -o "$scratch/now" "$volume" docs/small && grep -q changed "$scratch/now/docs/small" && [ ! -e "$scratch/now/docs/pipe" ]'
check "one that is run again leaves what it has taken" grep -q "it was there already .*: 1 of 2 entries" \
  <<<"$(dedupfs-extract -o "$scratch/now" "$volume" docs/small 2>&1)"
echo mine >"$scratch/now/docs/small"
check_refused "what is there is not replaced" 3 'docs/small: .*--overwrite' dedupfs-extract -o "$scratch/now" "$volume" docs/small

archive=$scratch/archive.tar
check "an archive is written" eval 'dedupfs-extract --tar --snapshot first "$volume" >"$archive"'
check "it has no zeros for holes" test "$(stat -c %s "$archive")" -lt 4000000
mkdir "$scratch/gnu"
check "GNU tar reads it" tar -x -p --acls --xattrs --xattrs-include='*' --numeric-owner -f "$archive" -C "$scratch/gnu"
same_below "and restores what the mount showed" "$scratch/shown" "$scratch/gnu"
check_equal "and has nothing to say of names in ASCII" "" "$(dedupfs-extract --tar "$volume" docs/small | tar -t 2>&1 >/dev/null)"
if command -v bsdtar >/dev/null; then
  mkdir "$scratch/bsd"
  check "bsdtar reads it" env LC_ALL=C.UTF-8 bsdtar -x -p --acls --xattrs --numeric-owner -f "$archive" -C "$scratch/bsd"
  same_below "and restores what the mount showed, too" "$scratch/shown" "$scratch/bsd"
else
  skip "bsdtar reads it" "the package libarchive-tools is not installed"
fi

check_equal "it lists what it would extract" "$(cd "$scratch/shown" && find . -mindepth 1 -printf "x\n" | wc -l)" \
  "$(dedupfs-extract --list --json --snapshot first "$volume" | grep -c '"path"')"
check_equal "nothing in the volume has changed" "" "$(state_of "$volume" | diff "$scratch/before" -)"

# Somebody else, who may read the files of the volume and owns nothing in it.
if is_root; then
  cp -a "$volume" "$scratch/copy"
  chown -R nobody: "$scratch/copy"
  chmod -R a-w "$scratch/copy"
  mkdir "$scratch/theirs"
  chown nobody: "$scratch/theirs"
  lend_to_nobody
  check_refused "another user gets all but devices" 3 'docs/device: only root can make devices' \
    "${user[@]}" dedupfs-extract --snapshot first -o "$scratch/theirs" "$scratch/copy"
  check "with the content" cmp "$scratch/theirs/docs/big" "$scratch/shown/docs/big"
  check_equal "as their own files, without set-id bits" "nobody 664" "$(stat -c '%U %a' "$scratch/theirs/docs/small")"
  check_equal "and with their ACLs" "$(getfacl -cn "$scratch/shown/docs/deep" 2>/dev/null)" "$(getfacl -cn "$scratch/theirs/docs/deep" 2>/dev/null)"
fi

# Damage: one file is named, the others are there.
damaged=$scratch/damaged
cp -a "$volume" "$damaged"
python3 - "$damaged"/containers/* <<'PY'
import os, sys
largest = max(sys.argv[1:], key=os.path.getsize)
with open(largest, "r+b") as file:
    file.seek(os.path.getsize(largest) // 2)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 4]))
PY
check_refused "a damaged file is named" 4 'docs/big: ' dedupfs-extract --snapshot first -o "$scratch/rest" "$damaged"
rm -f "$scratch/shown/docs/big" "$scratch/shown/docs/deep/big too"
touch -d '2001-02-03 04:05:06.789' "$scratch/shown/docs"
touch -r "$scratch/out/docs/deep" "$scratch/shown/docs/deep"
same_below "and all others are there" "$scratch/shown" "$scratch/rest"
check_refused "an archive leaves it out, too" 4 'docs/big: ' eval 'dedupfs-extract --tar --snapshot first "$damaged" >"$archive"'
check "and is whole" eval 'tar -tf "$archive" >"$scratch/names" && ! grep -q big "$scratch/names" && grep -q docs/hole "$scratch/names"'

# No index.
rm -r "$volume/index"
state_of "$volume" >"$scratch/before"
check_refused "without an index, the files come from the checkpoint" 4 'restored from .*checkpoint' \
  dedupfs-extract --scratch "$scratch" --snapshot first -o "$scratch/lost" "$volume"
same_below "and are what the mount showed" "$scratch/out" "$scratch/lost"
check_equal "nothing in the volume has changed then" "" "$(state_of "$volume" | diff "$scratch/before" -)"
check_equal "and nothing is left of the new index" "" "$(find "$scratch" -maxdepth 1 -name 'dedupfs-index*')"

finish
