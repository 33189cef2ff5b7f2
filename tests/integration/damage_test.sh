#!/usr/bin/env bash
# Damage to a volume is found, named and confined: no wrong byte is read, and all else can be read.
. "$(dirname "$0")/lib.sh"

# flip_a_bit FILE OFFSET
flip_a_bit() {
  python3 - "$@" <<'PY'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 4]))
PY
}

# read_damaged FILE EXPECTED: prints how many blocks were read wrong, and how many bytes gave EIO.
read_damaged() {
  python3 - "$@" <<'PY'
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
flip_a_bit "$container" $(($(stat -c %s "$container") / 3))
(dedupfs "$volume" "$mnt" -f 2>"$scratch/damage.log" &)
wait_until 20 is_mounted "$mnt"
read -r wrong unreadable < <(read_damaged "$mnt/damaged" "$scratch/noise")
check_equal "no wrong byte comes from a damaged container" 0 "$wrong"
check "the damaged stretch cannot be read, and it is small ($unreadable bytes)" test "$unreadable" -gt 0 -a "$unreadable" -le 2097152
check "other files can" cmp "$mnt/whole" <(noise 2 3000000)
check "the log names the file" grep -q damaged "$scratch/damage.log"
check "the log names the container" grep -qF "$(basename "$container")" "$scratch/damage.log"
check "writing goes on" eval 'echo on >"$mnt/more" && commit'
unmount_volume
check_refused "fsck.dedupfs -n finds the damage" 4 "$(basename "$container")" fsck.dedupfs -n --verify-data "$volume"

# The same content written again heals every file that has it.
mount_volume
check "the damage is remembered" test "$(stat_of damaged_chunks)" -ge 1
cp "$scratch/noise" "$mnt/again"
commit
check_equal "what was damaged is none any more" 0 "$(stat_of damaged_chunks)"
check "it is said how much was healed" test "$(stat_of healed_chunks)" -ge 1
check "the damaged file is whole again" cmp "$mnt/damaged" "$scratch/noise"
remount
check "and stays so" cmp "$mnt/damaged" "$scratch/noise"
check "what could be read is not stored twice" test "$(stat_of disk_bytes)" -lt 36000000
rm "$mnt/again"
unmount_volume
check "fsck.dedupfs -n has nothing to say any more" fsck.dedupfs -n --verify-data "$volume"

# Another bit. Repaired, the volume says which file lost what, and is as before otherwise.
flip_a_bit "$container" $(($(stat -c %s "$container") * 2 / 3))
status=0
fsck.dedupfs -y --verify-data "$volume" >"$scratch/repair.log" || status=$?
check_equal "fsck.dedupfs -y repairs what can be repaired, and says that data are lost" 5 $status
check "the report names the file with its path" grep -q '^lost: /damaged ' "$scratch/repair.log"
check "the volume mounts" mount_volume
read -r wrong unreadable < <(read_damaged "$mnt/damaged" "$scratch/noise")
check_equal "no wrong byte comes from a repaired volume" 0 "$wrong"
check "what is lost cannot be read ($unreadable bytes)" test "$unreadable" -gt 0 -a "$unreadable" -le 2097152
check "other files can be read after a repair" cmp "$mnt/whole" <(noise 2 3000000)
cp "$scratch/noise" "$mnt/damaged"
check "the same content, written again, is whole" cmp "$mnt/damaged" "$scratch/noise"
unmount_volume
check "nothing is lost any more" eval 'fsck.dedupfs -n --verify-data "$volume" >"$scratch/repair.log" && ! grep -q "^lost" "$scratch/repair.log"'
rm -r "$volume/index.damaged"

# Tables of the index that the containers can replace: everything is back.
grep -laE 'name(chunks|fingerprints|features)' "$volume"/index/*.sst | xargs rm
check_refused "a volume whose index has lost tables is not mounted, and the remedy is named" 32 'fsck.dedupfs -y' dedupfs "$volume" "$mnt"
check_refused "fsck.dedupfs -n finds it" 4 'error: ' fsck.dedupfs -n "$volume"
status=0
fsck.dedupfs -a "$volume" >"$scratch/repair.log" || status=$?
check_equal "fsck.dedupfs -a repairs it" 1 $status
check "all data are there" eval 'fsck.dedupfs -n --verify-data "$volume" && mount_volume && cmp "$mnt/damaged" "$scratch/noise"'
unmount_volume

# A damaged base: chunks of other files that are made from it cannot be read either, and nothing wrong is.
new_volume --compression none
noise 3 2000000 >"$scratch/old"
near_duplicate "$scratch/old" 1000 3000 >"$scratch/new" # in every chunk
cp "$scratch/old" "$mnt/old"
commit
cp "$scratch/new" "$mnt/new"
unmount_volume
check "nearly all of the new version are deltas" eval \
  '[ $(($(stat_of delta_chunks) * 20)) -ge $(($(stat_of unique_chunks) * 9)) ]'
container=$(find "$volume/containers" -type f | sort | head -n 1)
flip_a_bit "$container" 1000000 # in the middle of the old version
(dedupfs "$volume" "$mnt" -f 2>"$scratch/base.log" &)
wait_until 20 is_mounted "$mnt"
read -r wrong unreadable < <(read_damaged "$mnt/new" "$scratch/new")
check_equal "no wrong byte comes of a damaged base" 0 "$wrong"
check "what is made from it cannot be read, the rest can ($unreadable bytes)" test "$unreadable" -gt 0 -a "$unreadable" -lt 1800000
check "the log names the file that was read" grep -q '/new' "$scratch/base.log"
check "the log names the delta, its base and the container" \
  grep -Eq "chunk [0-9]+, a delta: .*chunk [0-9]+: .*$(basename "$container")" "$scratch/base.log"
unmount_volume
check_refused "fsck.dedupfs -n names the delta and the base" 4 'chunk [0-9]+, a delta: .*chunk [0-9]+: ' fsck.dedupfs -n --verify-data "$volume"
mount_volume
check "what cannot be read any more" test "$(cmp "$mnt/new" "$scratch/new" 2>&1 | grep -c 'Input/output error')" = 1
cp "$scratch/old" "$mnt/old-again"
commit
check "a base that is written again heals what is made from it" cmp "$mnt/new" "$scratch/new"
unmount_volume
check "and all is sound" fsck.dedupfs -n --verify-data "$volume"
finish
