#!/usr/bin/env bash
# The keys of an encrypted volume, for those who have them, have lost them, or find them damaged: what opens, and what programs say.
. "$(dirname "$0")/lib.sh"

echo 'a passphrase' >"$scratch/passphrase"
head -c 100 /dev/urandom | base64 -w 0 >"$scratch/file"
printf 'a passphrase\na passphrase\n' >"$scratch/twice"
at_terminal() { python3 "$here/at_terminal.py" "$@"; }
stat_with() { dedupfs-stat -v --key-file "$1" "$volume"; }
opens() { stat_with "$scratch/$1" >/dev/null; }

# The terminal asks, twice for a new passphrase, and shows nothing of it.
check "mkfs asks twice at a terminal" at_terminal "$scratch/twice" mkfs.dedupfs --encrypt --kdf-memory 8m "$volume"
printf 'one\nanother\n' >"$scratch/different"
check_refused "two that differ are refused" 16 'not the same' at_terminal "$scratch/different" mkfs.dedupfs --encrypt --kdf-memory 8m "$scratch/none"
mkdir "$mnt"
shown=$(at_terminal "$scratch/passphrase" dedupfs "$volume" "$mnt")
check_equal "a mount asks, and does not show the answer" "Passphrase of $volume: yes" "${shown%%$'\n'*}$(is_mounted "$mnt" && echo yes)"
unmount_volume
check_refused "a wrong one is told" 32 'no key slot opens' at_terminal "$scratch/different" dedupfs "$volume" "$mnt"

check "a key file" dedupfs-key add --key-file "$scratch/passphrase" --new-key-file "$scratch/file" --kdf-memory 8m "$volume"
check "a recovery key" eval 'dedupfs-key export --json --key-file "$scratch/file" "$volume" |
  python3 -c "import json, sys; print(json.load(sys.stdin)[\"recovery_key\"])" >"$scratch/paper"'
check "there are three slots" eval '[ "$(dedupfs-key list "$volume" | grep -cE "MiB  (passphrase|key file|recovery key)$")" -eq 3 ]'
for key in passphrase file paper; do check "the $key opens it" opens "$key"; done

# What is no key.
: >"$scratch/empty"
echo >"$scratch/line"
head -c 70000 /dev/zero | tr '\0' a >"$scratch/long"
echo 'another passphrase' >"$scratch/wrong"
for bad in 'wrong:no key slot opens' 'missing:key file .*/missing: No such file' 'empty:key file .*/empty is empty' 'line:key file .*/line is empty' \
  'long:longer than 64 KiB' '.:Is a directory'; do
  file=$scratch/${bad%%:*}
  check_refused "mount with a key file that is ${bad%%:*}" 32 "${bad#*:}" dedupfs -o "key_file=$file" "$volume" "$mnt"
  check_refused "fsck with it" 8 "${bad#*:}" fsck.dedupfs --key-file "$file" "$volume"
  check_refused "dedupfs-key with it" 2 "${bad#*:}" dedupfs-key add --key-file "$file" --new-key-file "$scratch/file" "$volume"
  check_refused "dedupfs-stat with it" 1 "${bad#*:}" dedupfs-stat --key-file "$file" "$volume"
done
check_refused "a command that fails" 32 'passphrase command failed' dedupfs -o 'passphrase_command=echo a passphrase; exit 1' "$volume" "$mnt"
check_refused "a command that prints nothing" 32 'is empty' dedupfs -o passphrase_command=true "$volume" "$mnt"
check_refused "a slot that is not there" 2 'no key slot 7' dedupfs-key remove --key-file "$scratch/file" "$volume" 7

# One copy of the key header is damaged: it opens, says so, and is mended. Both: nothing opens, and it says what to put back.
damage() { printf X | dd of="$volume/$1" bs=1 seek=400 conv=notrunc 2>/dev/null; }
copies_are_alike() { cmp "$volume/superblock.json" "$volume/superblock.copy.json"; }
cp "$volume/superblock.json" "$scratch/header"
for copy in superblock.json superblock.copy.json; do
  damage $copy
  check "a mount opens with a damaged $copy" mount_volume "key_file=$scratch/file"
  unmount_volume
  check "and mends it" copies_are_alike
  damage $copy
  check_refused "fsck -n finds a damaged $copy" 4 "error: .*$copy: its checksum differs" fsck.dedupfs -n --key-file "$scratch/file" "$volume"
  check_refused "fsck -p mends it" 1 "repaired: $copy" fsck.dedupfs -p --key-file "$scratch/file" "$volume"
  check "the copies are alike" copies_are_alike
done
mount_volume "key_file=$scratch/file"
damage superblock.copy.json
dedupfs-scrub --wait "$mnt" >/dev/null 2>&1
check_equal "a scrub finds it, too" 4 "$?"
unmount_volume
damage superblock.json
damage superblock.copy.json
for asked in "32 dedupfs -o key_file=$scratch/file $volume $mnt" "4 fsck.dedupfs -y --key-file $scratch/file $volume" "4 fsck.dedupfs $volume" \
  "2 dedupfs-key list $volume" "1 dedupfs-stat $volume"; do
  read -r -a words <<<"$asked"
  check_refused "both damaged: ${words[1]} names them, and what to do" "${words[0]}" \
    'superblock.json: its checksum differs.*superblock.copy.json: its checksum differs; put one of them back' "${words[@]:1}"
done
cp "$scratch/header" "$volume/superblock.json"
check "it opens with one that was kept elsewhere" opens paper

# Somebody without the key changes a slot in both copies, checksums and all. Its own key opens nothing then; the others say what it is.
check_refused "fsck makes the other one again" 1 'repaired: superblock.copy.json' fsck.dedupfs -p --key-file "$scratch/file" "$volume"
slot=0
for key in passphrase file paper; do
  slot=$((slot + 1))
  for field in salt check key; do
    for copy in superblock.json superblock.copy.json; do cp "$scratch/header" "$volume/$copy"; done
    python3 "$here/damage_slot.py" "$volume" $slot $field
    for given in $key $([ $key = file ] && echo passphrase || echo file); do
      message='the key slots, or what is written beside them, were changed without the key: put back superblock.json'
      if [ $given = $key ]; then
        message='no key slot opens'
        [ $field != key ] || message="key slot $slot was changed without the key: put back superblock.json"
      fi
      check_refused "$field of slot $slot changed, $given given" 1 "$message" stat_with "$scratch/$given"
    done
  done
done
# In one copy only: the other one is not overwritten by it.
cp "$scratch/header" "$volume/superblock.copy.json"
check_refused "changed in the first copy: fsck refuses it" 4 'were changed without the key' fsck.dedupfs -y --key-file "$scratch/passphrase" "$volume"
check "and leaves the other one as it was" cmp "$scratch/header" "$volume/superblock.copy.json"
cp "$volume/superblock.copy.json" "$volume/superblock.json"
for key in passphrase file paper; do check "put back, the $key opens it" opens "$key"; done

# A passphrase that is forgotten, and slots that are removed.
tr 'A-Z' 'a-z' <"$scratch/paper" | tr -d -- - >"$scratch/typed"
printf 'a new one\na new one\n' | cat "$scratch/typed" - >"$scratch/answers"
check "the recovery key, typed without its case, makes a new passphrase" at_terminal "$scratch/answers" dedupfs-key recover --kdf-memory 8m "$volume"
echo 'a new one' >"$scratch/new"
check "which opens it" opens new
check "the forgotten one is removed" dedupfs-key remove --key-file "$scratch/new" "$volume" 1
check_refused "and opens it no more" 1 'no key slot opens' stat_with "$scratch/passphrase"
for key in file paper new; do check "the $key still does" opens "$key"; done
check "older keys are removed, too" eval 'for slot in 2 3; do dedupfs-key remove --key-file "$scratch/new" "$volume" $slot || exit; done'
check_refused "but not the last one" 2 'last key slot' dedupfs-key remove --key-file "$scratch/new" "$volume" 4
cp "$scratch/header" "$volume/superblock.json"
check "a header from before still opens with what was removed" opens passphrase

# As systemd gives a key: a file of mode 0400 in a folder of mode 0500.
cp "$volume/superblock.copy.json" "$volume/superblock.json"
credentials=$scratch/credentials
mkdir "$credentials"
install -m 0400 "$scratch/new" "$credentials/dedupfs-key"
chmod 0500 "$credentials"
export CREDENTIALS_DIRECTORY=$credentials
check "a mount takes the credential of its unit" dedupfs "$volume" "$mnt"
unmount_volume
check "so do fsck and dedupfs-stat" eval 'fsck.dedupfs "$volume" && dedupfs-stat -v "$volume" | grep -q Encrypted'
check_refused "a key file comes first" 32 'no key slot opens' dedupfs -o "key_file=$scratch/wrong" "$volume" "$mnt"
chmod 0700 "$credentials"
mv "$credentials/dedupfs-key" "$credentials/other"
check_refused "a credential of another name is none" 32 'passphrase is needed' setsid -w dedupfs "$volume" "$mnt"
unset CREDENTIALS_DIRECTORY
if command -v systemd-analyze >/dev/null; then
  units=$scratch/units
  mkdir -p "$units/dedupfs@.service.d"
  sed "s|@bindir@|$tools|" "$here/../../systemd/dedupfs@.service.in" >"$units/dedupfs@.service"
  cp "$here/../../contrib/systemd/encrypted.conf" "$units/dedupfs@.service.d"
  cp "$units/dedupfs@.service" "$units/dedupfs@backup.service"
  verify() { systemd-analyze verify --man=no --recursive-errors=no "$units/dedupfs@backup.service" 2>&1 | grep -F "$units"; }
  check_equal "systemd takes the drop-in that gives a unit its key" "" "$(SYSTEMD_UNIT_PATH=$units: verify)"
  echo 'LoadCredentials=a:b' >>"$units/dedupfs@.service.d/encrypted.conf"
  check_equal "and looks at it" 1 "$(SYSTEMD_UNIT_PATH=$units: verify | grep -c LoadCredentials)"
else
  skip "systemd takes the drop-in that gives a unit its key" "the package systemd is not installed"
fi
finish
