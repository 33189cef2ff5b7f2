#!/usr/bin/env bash
# The folder of an encrypted volume, copied by the tools that people have: the copy opens, is whole, and goes on apart from the original
# without a key in common for what is new.
. "$(dirname "$0")/lib.sh"

key=$scratch/key
echo 'the passphrase of the volume' >"$key"
original=$volume
# go_on COPY ROUND: the same file names in all copies, so the same places below; other content.
go_on() {
  volume=$1
  mount_volume "key_file=$key" || return 1
  noise "$1 $2" 3000000 >"$mnt/new"
  printf '%s' "$1" | dd of="$mnt/noise" conv=notrunc bs=1 seek="$2"5000 2>/dev/null
  echo "$1 $2" >>"$mnt/lines"
  unmount_volume
}
has_its_own() {
  local is_whole
  volume=$1
  mount_volume "ro,key_file=$key" || return 1
  noise "$1 $2" 3000000 | cmp - "$mnt/new" && [ "$(tail -n 1 "$mnt/lines")" = "$1 $2" ]
  is_whole=$?
  unmount_volume && return $is_whole
}

check "mkfs" mkfs.dedupfs --encrypt --key-file "$key" --kdf-memory 8m "$volume"
check "it is mounted" mount_volume "key_file=$key"
noise 1 3000000 >"$mnt/noise"
for i in $(seq 300); do echo "line $i"; done >"$mnt/lines"
unmount_volume

copies=("$original")
# copied TOOL COMMAND...: makes a copy of the folder.
copied() {
  local copy=$scratch/$1
  check "$1 copies the folder" "${@:2}"
  check_equal "the copy is the same" "" "$(diff -r "$original" "$copy" 2>&1)"
  check "fsck finds no damage in it" fsck.dedupfs --verify-data --key-file "$key" "$copy"
  copies+=("$copy")
}
copied cp cp -a "$original" "$scratch/cp"
copied before cp -a "$original" "$scratch/before"
unset 'copies[-1]'
copied rsync rsync -a "$original/" "$scratch/rsync"
copied tar sh -c 'mkdir "$2" && tar -C "$1" -cf - . | tar -C "$2" -xpf -' sh "$original" "$scratch/tar"
if command -v rclone >/dev/null; then
  copied rclone rclone --config /dev/null copy "$original" "$scratch/rclone"
else
  skip "rclone copies the folder" "no rclone here"
fi

# Apart, twice: the second time, files are there that the first one has made.
for round in 1 2; do
  for copy in "${copies[@]}"; do
    check "round $round: ${copy##*/} goes on" go_on "$copy" "$round"
    check "and has what was written to it" has_its_own "$copy" "$round"
  done
done
for copy in "${copies[@]}"; do
  check "fsck finds no damage in ${copy##*/}" fsck.dedupfs --verify-data --key-file "$key" "$copy"
done
check "no two of them seal anything new with the same key" python3 "$here/shared_keys.py" "$key" "$scratch/before" "${copies[@]}"

# The check itself finds what is shared: a copy beside itself.
check_refused "a copy beside itself shares keys" 1 'share [0-9]+ salts' python3 "$here/shared_keys.py" "$key" "$scratch/before" "$scratch/cp" "$scratch/cp"

# Files of two of them do not mix.
first=$(find "$scratch/cp/containers" -type f | sort | tail -n 1)
cp "$scratch/rsync/${first#"$scratch/cp/"}" "$first"
check_refused "a container of another copy is found" 32 'is not as it was left|was not there' dedupfs -o "key_file=$key" "$scratch/cp" "$mnt"
finish
