#!/usr/bin/env bash
# A volume that is larger than what it may take of its disk: most of it is in a bucket only.
. "$(dirname "$0")/lib.sh"
. "$here/bucket.sh"

on_disk() { # MiB of content
  du -sm --total "$volume/containers" "$volume/evicted" | tail -n 1 | cut -f1
}
# Each mount begins a container of its own, and a ship evicts those that are finished.
write_backups() { # OPTIONS, of a volume that is mounted
  local name
  for name in one two three; do
    mkdir "$mnt/$name"
    noise "$name" 24000000 >"$mnt/$name/noise"
    cp -a "$here/syscalls" "$mnt/$name/sources"
    unmount_volume
    mount_volume "$1"
  done
  dedupfs-remote push "$volume" >>"$daemon_log"
}
same_noise() { # NAME
  cmp "$mnt/$1/noise" <(noise "$1" 24000000)
}

start_server
echo secret >"$scratch/key"
for kind in plain encrypted; do
  place=$kind
  options=remote_lag=0,settle=off # what is settled meanwhile is here until the next ship
  made=()
  if [ "$kind" = encrypted ]; then
    options+=",key_file=$scratch/key"
    made=(--encrypt --key-file "$scratch/key" --kdf-memory 64m)
  fi
  check "a volume is mounted with a cache ($kind)" new_shipped_volume "$options,remote_cache=16m" "${made[@]}"
  write_backups "$options,remote_cache=16m"
  # One that was sealed while it was captured goes with the next ship.
  check "what it may take, and not much more, is on the disk" wait_until 60 eval 'dedupfs-remote push "$volume" >>"$daemon_log" && [ "$(on_disk)" -lt 25 ]'
  check "dedupfs-stat says so" eval 'dedupfs-stat "$mnt" | grep -Eq "^Remote: .*; [0-9]+ containers are only there"'
  check "no mount read from the bucket" test "$(of_remote fetches)" = 0
  before=$(requests GET)
  for name in one two three; do cp "$mnt/$name/noise" "$scratch/$name"; done
  asked=$(($(requests GET) - before))
  check "every byte is there" eval 'same_noise one && same_noise two && same_noise three'
  stored=$(find "$volume/containers" "$volume/evicted" -name "*.container" -printf "%s\n" | awk '{ sum += $1 } END { print int(sum / 1048576) + 1 }')
  # Some more: a container may end in the middle of a block, and who ships looks at the bucket.
  check "for a request a MiB at most ($asked for $stored MiB)" test "$asked" -le $((stored + 10))
  check "from the bucket" test "$(of_remote fetches)" -gt 20
  check "and the cache keeps to what it may take" eval '[ "$(on_disk)" -lt 30 ]'

  crash
  mount_volume "$options,remote_cache=16m"
  check "a crash takes nothing" same_noise one
  unmount_volume
  mount_volume "$options,remote_cache=16m"
  cp "$scratch/two" "$mnt/again"
  commit
  check "what is there already needs nothing from the bucket" test "$(of_remote fetches)" = 0
  check "and is what it was" cmp "$mnt/again" "$scratch/two"
  fetched=$(of_remote fetches)
  near_duplicate "$scratch/two" 100 90000 >"$mnt/near"
  commit
  check_equal "nor is anything fetched for what resembles it" "$fetched" "$(of_remote fetches)"
  unmount_volume
  mount_volume "$options,remote_cache=16m,remote_delta_budget=4m"
  near_duplicate "$scratch/two" 45000 90000 >"$scratch/near"
  cp "$scratch/near" "$mnt/nearer"
  commit
  fetched=$(of_remote fetches)
  check "but for what it may, with a budget for that ($fetched)" eval '[ "$fetched" -ge 1 ] && [ "$fetched" -le 8 ]'
  check "every byte" cmp "$mnt/nearer" "$scratch/near"
  rm -r "$mnt/one" "$mnt/two" "$mnt/again" "$mnt/near" "$mnt/nearer"
  commit
  check "a reclaim removes what nobody needs" dedupfs-gc --wait "$mnt"
  check "also if it is in the bucket only" eval '[ "$(find "$volume/evicted" -name "*.container" -size +20M | wc -l)" -le 1 ]'
  check "an unmount ships that" unmount_volume
  check "other programs find what they need" eval 'fsck.dedupfs -n --verify-data ${made:+--key-file "$scratch/key"} "$volume" >/dev/null'
  check "extract, too" dedupfs-extract ${made:+--key-file "$scratch/key"} "$volume" three/noise -o "$scratch/extracted-$kind"
  check "every byte" cmp "$scratch/extracted-$kind/three/noise" "$scratch/three"
  check "the bucket alone has the volume" restore ${made:+key_file="$scratch/key"}
  check "every byte" cmp "$there/three/noise" "$scratch/three"
  give_back

  # A machine with a small disk takes over.
  check "a clone of the index alone" dedupfs-remote clone --index-only --endpoint "$endpoint" "s3://bucket/$place" "$restored"
  check "takes next to no room" eval '[ "$(du -sm "$restored" | cut -f1)" -lt 8 ]'
  check "the first machine goes on" eval 'mount_volume "$options" && echo later >"$mnt/later" && unmount_volume'
  check "so the clone is older, and takes over" dedupfs-remote takeover "$restored"
  check "without fetching the rest" eval '[ "$(du -sm "$restored" | cut -f1)" -lt 8 ] && [ -n "$(ls "$restored/evicted")" ]'
  mkdir -p "$there"
  check "is mounted" dedupfs "$restored" "$there" -o "$options,remote_cache=16m"
  check "has every byte" cmp "$there/three/noise" "$scratch/three"
  check_equal "and what came since" later "$(cat "$there/later")"
  check "and goes on" eval 'echo new >"$there/new" && sync "$there/new" && dedupfs-remote push "$restored"'
  umount.dedupfs "$there"
  check "without a lost chunk" eval 'fsck.dedupfs -n --verify-data ${made:+--key-file "$scratch/key"} "$restored" >/dev/null'
  give_back
done
check_refused "a volume without a bucket has no cache" 32 'dedupfs-remote attach' eval 'mkfs.dedupfs "$scratch/without" >/dev/null 2>&1 && dedupfs "$scratch/without" "$mnt" -o remote_cache=16m'
if is_root; then
  chown -R 65534 "$volume"
  check_refused "what others say of a bucket is not believed" 32 'bucket' dedupfs "$volume" "$mnt" -o "foreign,key_file=$scratch/key"
  chown -R 0 "$volume"
fi

# Nobody answers.
export DEDUPFS_STORE_PATIENCE=12
mount_volume "remote_lag=0,key_file=$scratch/key,remote_cache=16m"
stop_server
check_refused "what is only there cannot be read, and that is said" 1 'Input/output error' eval 'cat "$mnt/three/noise" >/dev/null'
check "what is written is kept" eval 'echo on >"$mnt/on" && commit && [ "$(cat "$mnt/on")" = on ]'
check "and data that is there is found" eval 'cp "$scratch/three" "$mnt/copy" && commit'
unmount_volume 2>>"$daemon_log"
before=$(cd "$volume" && find . -type f -name "*.sst" | sort | sha256sum)
check_refused "a repair takes nothing for lost that the store does not give now" 8 '127.0.0.1' fsck.dedupfs -y --verify-data --key-file "$scratch/key" "$volume"
check_equal "and changes nothing" "$before" "$(cd "$volume" && find . -type f -name "*.sst" | sort | sha256sum)"

# The store takes nothing: what is not shipped has a limit.
rm "$scratch/port"
start_server
place=limited
check "a volume with a limit is mounted" new_shipped_volume "remote_lag=0,settle=off,remote_cache=64m,remote_unshipped=16m,log=$scratch/mount.log"
noise kept 3000000 >"$mnt/kept"
dedupfs-remote push "$volume" >>"$daemon_log"
set_faults "PUT:*:403=AccessDenied"
before=$SECONDS
check_refused "a store that takes nothing leaves no room for more than that" 1 'No space left' eval 'noise five 40000000 | dd of="$mnt/five" bs=1M iflag=fullblock'
check "after a wait, and not for ever" eval '[ $((SECONDS - before)) -ge 11 ] && [ $((SECONDS - before)) -lt 70 ]'
before=$SECONDS
check_refused "the next one is told" 1 'No space left' eval 'noise six 4000000 | dd of="$mnt/six" bs=1M iflag=fullblock'
check "at once" test $((SECONDS - before)) -lt 30
check "dedupfs-stat says so" eval 'dedupfs-stat "$mnt" | grep -q "(16.00 MiB at most); there is no room for new data until more is there; .*AccessDenied"'
check "what is lacking is no more than that" test "$(of_remote lacking_bytes)" -le $((17 << 20))
check_equal "the log says it once" 1 "$(grep -c "as much as remote_unshipped allows: .*nothing new can be written" "$scratch/mount.log")"
check "what is there can be read" cmp "$mnt/kept" <(noise kept 3000000)
check "and be deleted" rm "$mnt/five" "$mnt/six"
set_faults
check "when the store is back, it is shipped though nobody asks" wait_until 60 eval '[ "$(of_remote writers_refused)" = False ] && [ "$(of_remote lacking_bytes)" = 0 ]'
check "and writers go on" eval 'noise five 40000000 >"$mnt/five" && commit'
check "as if nothing had happened" eval 'cmp "$mnt/five" <(noise five 40000000) && dedupfs-remote push "$volume" >/dev/null && dedupfs-remote verify "$volume" >/dev/null'
unmount_volume
finish
