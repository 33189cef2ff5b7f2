#!/usr/bin/env bash
# The folder of an encrypted volume looks random, block by block, whatever the content: mounted, unmounted, after kill -9.
. "$(dirname "$0")/lib.sh"

key=$scratch/key
echo 'the passphrase of the volume' >"$key"
with_key() { mount_volume "key_file=$key"; }
looks_random() { python3 "$here/looks_random.py" "$volume"; }
# Content with as little chance in it as possible: text, zeros, the same again and again, many small files, long names.
write_repetitive() {
  python3 - "$mnt" <<'PY'
import os, sys
os.chdir(sys.argv[1])
open("lines", "w").writelines(f"line {number} of a text that says little\n" for number in range(60000))
open("zeros", "wb").write(bytes(4 << 20))
open("letters", "wb").write(b"A" * (4 << 20))
os.mkdir("many")
for number in range(400):
    open(f"many/a name that is long and nearly the same for every file {number:04}", "w").write("the same\n" * 200)
PY
}

declare -A ciphers=([none]=aes-256-gcm [zstd]=chacha20-poly1305)
# Not compressed, so that what is sealed is as repetitive as what was written.
for compression in none zstd; do
  rm -rf "$volume"
  check "compression $compression, ${ciphers[$compression]}: mkfs" mkfs.dedupfs --cipher "${ciphers[$compression]}" --landing "$compression" \
    --settled "$compression" --encrypt --key-file "$key" --kdf-memory 8m "$volume"
  check "it is mounted" with_key
  check "repetitive files are written" write_repetitive
  commit
  check "mounted, each block looks random" looks_random
  crash
  check "so it does after kill -9" looks_random
  check "and it is mounted again" with_key
  check "files are changed in place" eval 'printf changed | dd of="$mnt/lines" conv=notrunc bs=1 seek=100000 && rm -r "$mnt/many" && dedupfs-gc "$mnt"'
  unmount_volume
  check "unmounted, each block looks random" looks_random
done

# The check itself: a volume that is not encrypted fails it.
rm -rf "$volume"
check "a plain volume" mkfs.dedupfs --landing none --settled none "$volume"
mount_volume
write_repetitive
unmount_volume
check_refused "does not look random" 1 'container at .*: its bytes are not alike' looks_random
finish
