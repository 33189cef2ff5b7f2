#!/usr/bin/env bash
# An encrypted volume on a real mount: its folder tells nothing of its content, it opens with its key only, it survives kill -9, and
# the tools work with the key.
. "$(dirname "$0")/lib.sh"

key=$scratch/key
other=$scratch/other
echo 'the passphrase of the volume' >"$key"
echo 'another passphrase' >"$other"
with_key() { mount_volume "key_file=$key$(is_root && echo ,allow_other)"; }
# Whether a text is anywhere in the folder, in the names too.
folder_has() { grep -rqaF -- "$1" "$volume" || find "$volume" | grep -qF -- "$1"; }

check "mkfs makes an encrypted volume" mkfs.dedupfs --encrypt --key-file "$key" --kdf-memory 8m -L 'secret label' --chunker toga "$volume"
check "it is mounted with the key file" with_key
mkdir "$mnt/secret-folder"
for i in $(seq 300); do echo "known plaintext of line $i"; done >"$mnt/secret-folder/known-name"
noise 1 3000000 >"$mnt/noise"
cp "$mnt/noise" "$mnt/noise-again"
ln -s secret-target "$mnt/link"
setfattr -n user.secret -v secret-value "$mnt/noise"
dedupfs-snapshot create "$mnt" secret-snapshot 2>/dev/null
commit

for text in 'known plaintext' known-name secret-folder secret-target secret-value secret-snapshot 'secret label' \
  'the passphrase' toga: DDPCNTR1 DDPCRGN1 DDPCKPT1; do
  check "the folder does not hold: $text" eval '! folder_has "$text"'
done
check "the daemon's arguments and environment do not hold the passphrase" eval \
  '! grep -qaF "the passphrase" "/proc/$(daemon_pid)/cmdline" "/proc/$(daemon_pid)/environ"'

crash
check_refused "without a key it is not mounted" 32 'passphrase is needed' setsid -w dedupfs "$volume" "$mnt"
check_refused "nor with another passphrase" 32 'no key slot opens' dedupfs -o "key_file=$other" "$volume" "$mnt"
check_refused "nor with a key file that is missing" 32 'none: ' dedupfs -o "key_file=$scratch/none" "$volume" "$mnt"
check "after kill -9 it is mounted again" with_key
check "and has what was committed" eval 'cmp "$mnt/noise" "$mnt/noise-again" && grep -q "line 300" "$mnt/secret-folder/known-name"'
rm "$mnt/noise-again"
unmount_volume

check "fsck finds no damage" fsck.dedupfs --verify-data --key-file "$key" "$volume"
check_refused "fsck without the key says that it did little" 8 'no key was given' setsid -w fsck.dedupfs "$volume"
check "dedupfs-stat without the key shows the key slots" eval 'setsid -w dedupfs-stat "$volume" | grep -q "8.00 MiB  key file"'
check "and no more" eval '! setsid -w dedupfs-stat --json "$volume" | grep -q "secret label"'
check "dedupfs-stat -v tells the generation" eval 'dedupfs-stat -v --key-file "$key" "$volume" | grep -q "Encrypted, generation .*, unmounted 2"'
check "dedupfs-stat reads it" eval 'dedupfs-stat -v --key-file "$key" "$volume" | grep -q "secret label"'
check "dedupfs-snapshot lists" eval 'dedupfs-snapshot list --key-file "$key" "$volume" | grep -q secret-snapshot'
check "dedupfs-gc reclaims" dedupfs-gc --key-file "$key" "$volume"
check "dedupfs-extract extracts, with a passphrase command" eval \
  'dedupfs-extract --passphrase-command "cat $key" -o "$scratch/out" "$volume" secret-folder && grep -q "line 300" "$scratch/out/secret-folder/known-name"'
check_refused "an encrypted volume is not made over another" 8 'is a dedupfs volume already' \
  mkfs.dedupfs --encrypt --key-file "$key" "$volume"
check_refused "a core file of the daemon is refused" 1 'core file' dedupfs -o "key_file=$key,core_dump" "$volume" "$mnt"

# Somebody puts an older state of one file back.
container=$(find "$volume/containers" -name '*.container' | sort | tail -n 1)
cp "$container" "$scratch/container"
truncate -s -1000 "$container"
check_refused "a file that was cut off is found at the mount" 32 'is not as it was left' dedupfs -o "key_file=$key" "$volume" "$mnt"
check_refused "extract names it, and goes on" 4 'is not as it was left' \
  dedupfs-extract --key-file "$key" -o "$scratch/rescued" "$volume"
check "what was elsewhere is there" grep -q secret-target <(readlink "$scratch/rescued/link")
check "a mount with ro goes on, too" mount_volume "ro,key_file=$key"
check "and shows the names" test -L "$mnt/link"
check_refused "its daemon answers for it, which has the key" 0 '^Holds' dedupfs-stat "$mnt" </dev/null
unmount_volume
cp "$scratch/container" "$container"
check "it is mounted when the file is back" with_key
unmount_volume


# Somebody puts a file of an older state back, which the volume has no more.
cp "$scratch/container" "$volume/containers/0000009999.container"
check_refused "a file that was not there is found at the mount" 32 'was not there when the volume was unmounted' dedupfs -o "key_file=$key" "$volume" "$mnt"
check_refused "fsck names it and changes nothing" 4 'was not there' fsck.dedupfs -p --key-file "$key" "$volume"
rm "$volume/containers/0000009999.container"
rm "$volume/unmounted"
check "its copy is enough" with_key
unmount_volume
rm "$volume/unmounted" "$volume/unmounted.copy"
check_refused "a volume without its list of files is not mounted" 32 'is missing: nobody can tell' dedupfs -o "key_file=$key" "$volume" "$mnt"
check_refused "fsck -y takes the files as they are" 1 'taken as they are' fsck.dedupfs -y --key-file "$key" "$volume"
check "so it is mounted again" with_key
unmount_volume

# Somebody puts a plain volume in its place.
check "mkfs makes a plain volume" mkfs.dedupfs "$scratch/plain"
check_refused "which cannot be encrypted where it is" 8 'dedupfs-send OLD --snapshot NAME \| dedupfs-receive NEW.*cp -a OLD/. NEW/' mkfs.dedupfs --encrypt --key-file "$key" "$scratch/plain"
cp "$scratch/plain/superblock.copy.json" "$scratch/copy"
cp "$volume/superblock.copy.json" "$scratch/plain/superblock.copy.json"
check_refused "parts of both together are refused" 32 'somebody put it there' dedupfs "$scratch/plain" "$mnt"
cp "$scratch/copy" "$scratch/plain/superblock.copy.json"
check_refused "which is refused where a key is given" 32 'is not encrypted, but a key was given' \
  dedupfs -o "key_file=$key" "$scratch/plain" "$mnt"

echo 'the third passphrase' >"$scratch/third"
check "dedupfs-key adds a key file" dedupfs-key add --key-file "$key" --new-key-file "$other" --kdf-memory 8m "$volume"
check "and changes a passphrase" dedupfs-key change --key-file "$other" --new-key-file "$scratch/third" --kdf-memory 8m "$volume"
check "the changed one opens it" eval 'dedupfs-stat -v --key-file "$scratch/third" "$volume" | grep -q "secret label"'
check_refused "the old one does not" 1 'no key slot opens' dedupfs-stat --key-file "$other" "$volume"
check "dedupfs-key exports a recovery key" eval \
  'dedupfs-key export --json --key-file "$key" "$volume" | python3 -c "import json, sys; print(json.load(sys.stdin)[\"recovery_key\"].lower())" >"$scratch/paper"'
echo 'after the recovery' >"$scratch/recovered"
check "which opens it when the passphrase is forgotten" \
  dedupfs-key recover --key-file "$scratch/paper" --new-key-file "$scratch/recovered" --kdf-memory 8m "$volume"
check "a removed key opens it no more" eval 'dedupfs-key remove --key-file "$scratch/recovered" "$volume" 1 &&
  ! dedupfs-stat --key-file "$key" "$volume"'
cp "$scratch/recovered" "$key"

# Another master key: it has a new passphrase, the others go, and a reclaim writes everything anew.
header_says() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$volume/superblock.json" "$1"; }
check "another passphrase is there" dedupfs-key add --key-file "$key" --new-key-file "$other" --kdf-memory 8m "$volume"
check_refused "a passphrase that opened it before is none for another master key" 2 'Give a new passphrase' \
  dedupfs-key rotate --key-file "$key" --new-key-file "$other" "$volume"
cp "$volume/superblock.json" "$scratch/superblock.before"
echo 'after the rotation' >"$scratch/rotated"
check "dedupfs-key makes another master key" dedupfs-key rotate --key-file "$key" --new-key-file "$scratch/rotated" "$volume"
check_equal "which has a number" 2 "$(header_says key_number)"
for former in "$key" "$other"; do
  check_refused "a passphrase of before opens it no more" 1 'no key slot opens' dedupfs-stat --key-file "$former" "$volume"
done
cp "$scratch/rotated" "$key"
mkdir "$scratch/kept"
cp -p "$volume"/superblock* "$scratch/kept"
for copy in superblock.json superblock.copy.json; do cp "$scratch/superblock.before" "$volume/$copy"; done
check_refused "whoever puts the key header of before back is found out" 1 'no key slot opens' dedupfs-stat --key-file "$key" "$volume"
cp -p "$scratch"/kept/* "$volume"
check "the new one does" with_key
check "and all is there" eval 'grep -q "line 300" "$mnt/secret-folder/known-name"'
unmount_volume
check "a reclaim seals everything anew" dedupfs-gc --key-file "$key" "$volume"
for _ in 1 2 3; do # the checkpoints follow, one an unmount
  with_key
  date >"$mnt/secret-folder/date"
  commit
  unmount_volume
done
check_equal "then the former master key is forgotten" '[]' "$(header_says former_keys)"
check "and all is sound" fsck.dedupfs --key-file "$key" "$volume"

# A keyring of its own, so that nothing is left of it.
in_keyring() { keyctl session - sh -c 'keyctl padd user dedupfs-test @s <"$1" >/dev/null && shift && exec "$@"' sh "$key" "$@"; }
if command -v keyctl >/dev/null && in_keyring true 2>/dev/null; then
  check "a key in the keyring of the kernel opens it" in_keyring dedupfs -o keyring=dedupfs-test "$volume" "$mnt"
  unmount_volume
else
  skip "a key in the keyring of the kernel opens it" "no keyctl, or no keyrings here"
fi

finish
