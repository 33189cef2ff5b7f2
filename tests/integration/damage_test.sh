#!/usr/bin/env bash
# Damage to a volume is found, named and confined: no wrong byte is read, and all else can be read.
. "$(dirname "$0")/lib.sh"

new_volume
echo kept >"$mnt/file"
unmount_volume
cp "$volume"/superblock*.json "$scratch"

echo '{"cut off' >"$volume/superblock.json"
check "a broken superblock has a second copy" eval 'mount_volume && grep -q kept "$mnt/file"'
unmount_volume
echo '{"cut off' | tee "$volume/superblock.json" >"$volume/superblock.copy.json"
check_refused "with both copies broken the mount is refused" 32 'superblock' dedupfs "$volume" "$mnt"
cp "$scratch"/superblock*.json "$volume"
check "with the right ones all is well" eval 'mount_volume && grep -q kept "$mnt/file"'

# One flipped bit in a container: EIO for that stretch, everything else readable, a log that names file and container.
noise 1 30000000 >"$scratch/noise"
cp "$scratch/noise" "$mnt/damaged"
commit
noise 2 3000000 >"$mnt/whole"
unmount_volume
container=$(find "$volume/containers" -type f -size +10M | sort | head -n 1)
python3 - "$container" <<'PY'
import os, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(os.path.getsize(sys.argv[1]) // 3)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 4]))
PY
(dedupfs "$volume" "$mnt" -f 2>"$scratch/damage.log" &)
wait_until 20 is_mounted "$mnt"
read_damaged() {
  python3 - "$mnt/damaged" "$scratch/noise" <<'PY'
import errno, sys
wrong = errors = 0
expected = open(sys.argv[2], "rb").read()
with open(sys.argv[1], "rb", buffering=0) as file:
    for offset in range(0, len(expected), 4096):
        try:
            file.seek(offset)
            part = file.read(4096)
            wrong += part != expected[offset : offset + 4096]
        except OSError as error:
            assert error.errno == errno.EIO, error
            errors += 4096
print(wrong, errors)
PY
}
read -r wrong unreadable < <(read_damaged)
check_equal "no wrong byte comes from a damaged container" 0 "$wrong"
check "the damaged stretch cannot be read, and it is small ($unreadable bytes)" test "$unreadable" -gt 0 -a "$unreadable" -le 2097152
check "other files can" cmp "$mnt/whole" <(noise 2 3000000)
check "the log names the file" grep -q damaged "$scratch/damage.log"
check "the log names the container" grep -qF "$(basename "$container")" "$scratch/damage.log"
check "writing goes on" eval 'echo on >"$mnt/more" && commit'
unmount_volume
check_refused "fsck.dedupfs -n finds the damage" 4 "$(basename "$container")" fsck.dedupfs -n "$volume"
finish
