#!/usr/bin/env bash
# A mounted volume that is shipped to a bucket, on an S3 server of the tests. What the bucket alone gives is compared byte by byte.
. "$(dirname "$0")/lib.sh"

. "$here/bucket.sh"

write_tree() {
  mkdir -p "$mnt/$1"
  noise "$1" 3000000 >"$mnt/$1/noise"
  near_duplicate "$mnt/$1/noise" 100 90000 >"$mnt/$1/near"
  cp -a "$here/syscalls" "$mnt/$1/sources"
  ln -s noise "$mnt/$1/link"
}

start_server
place=first
check "a volume that is attached is mounted" new_shipped_volume remote_lag=1
write_tree one
commit
check "what is written reaches the bucket by itself" wait_until 60 eval '[ "$(of_remote lacking_bytes)" = 0 ] && head_is_newer 0'
head=$(of_remote head)
write_tree two
commit
check "and so does what comes later" wait_until 60 head_is_newer "$head"
tried() { [ "$(of_remote tries)" -ge "$1" ]; } # TIMES
ships_at_rest() { # it has tried three times more, and sent nothing: the bucket has all
  local begun puts
  begun=$(of_remote tries) puts=$(requests PUT)
  wait_until 30 tried "$((begun + 3))" && [ "$(requests PUT)" = "$puts" ]
}
check "a mount at rest ships nothing" wait_until 60 ships_at_rest
check "a push ships what was written before it" dedupfs-remote push "$volume"
cp -a "$mnt" "$scratch/expected"
check "dedupfs-stat says so" eval 'dedupfs-stat "$mnt" | grep -Eq "^Remote: s3://bucket/first has all of [0-9]+ seconds ago"'
check "dedupfs-remote, too, and what the store was asked for" eval 'dedupfs-remote status "$volume" >"$scratch/status" && grep -Eq "^The mount has shipped all of [0-9]+ seconds ago" "$scratch/status" && grep -Eq "sent [1-9][0-9]* PUT, [0-9]+ LIST" "$scratch/status"'
if is_root; then
  lend_to_nobody
  check "everybody may see that" eval '"${user[@]}" dedupfs-stat "$mnt" | grep -q "^Remote: s3://bucket/first has all"'
fi
check "metrics have it" eval 'dedupfs-stat --prometheus "$scratch/metrics" "$mnt" && grep -q "^dedupfs_remote_fenced{.*} 0" "$scratch/metrics"'
crash
check "the volume is made again from the bucket alone" restore
same_tree "with all that a push had shipped" "$scratch/expected" "$there"

# The unmount.
mount_volume remote_lag=0
write_tree three
cp -a "$mnt/three" "$scratch/three"
check "an unmount ships the rest" unmount_volume
check "the bucket has it" restore
same_tree "every byte" "$scratch/three" "$there/three"
check "the volume is sound" fsck.dedupfs -n --verify-data "$volume"

# Another machine.
mount_volume remote_lag=0
give_back
check "another machine makes a clone" dedupfs-remote clone --endpoint "$endpoint" s3://bucket/first "$restored"
mkdir -p "$there"
check_refused "which says when it is mounted that it ships nothing" 0 'is a copy of s3://bucket/first, .*takeover' dedupfs "$restored" "$there"
check "as dedupfs-stat does" eval 'dedupfs-stat "$there" | grep -q "^Remote: this volume is a copy of s3://bucket/first"'
check "unmount the copy" umount.dedupfs "$there"
check_refused "read-only, there is nothing to ship" 0 '^$' dedupfs "$restored" "$there" -o ro
check "unmount it again" umount.dedupfs "$there"
check "and takes over" dedupfs-remote takeover "$restored"
noise kept 1000000 >"$mnt/kept"
commit
check_refused "the first one is fenced" 2 'another machine' dedupfs-remote push "$volume"
check "dedupfs-stat says so" eval 'dedupfs-stat "$mnt" | grep -q "^Remote: .*another writer"'
check_refused "and is read-only at once" 1 'Read-only' touch "$mnt/more"
check "what was written before is there" cmp "$mnt/kept" <(noise kept 1000000)
unmount_volume 2>"$scratch/unmounted"
check "whoever unmounts it is told what the bucket lacks" grep -q 's3://bucket/first lacks what was written last' "$scratch/unmounted"
check "the other one goes on" dedupfs-remote push "$restored"
check "and what was not shipped is in the volume" eval 'mount_volume ro && cmp "$mnt/kept" <(noise kept 1000000)'
unmount_volume
give_back

# Another machine, while the first one puts a head each second: no clone is ever at the newest one.
place=live
check "a volume is shipped each second" new_shipped_volume remote_lag=1
write_until_refused() {
  local i
  for ((i = 1; i <= 10000; ++i)); do noise "live $i" 20000 >"$mnt/$i" && dedupfs-sync "$mnt" || return 0; done
}
write_until_refused 2>>"$daemon_log" &
writing=$!
check "it has heads" wait_until 60 head_is_newer 1
check "it is cloned" dedupfs-remote clone --endpoint "$endpoint" s3://bucket/live "$restored"
head=$(of_remote head)
check "and goes on" wait_until 60 head_is_newer "$((head + 1))"
check "the clone takes over all the same" dedupfs-remote takeover "$restored"
check "the first one is fenced at its next head" wait_until 60 eval '! kill -0 "$writing" 2>/dev/null'
wait "$writing" 2>/dev/null
check_refused "it says so" 2 'another machine' dedupfs-remote push "$volume"
check "and what the bucket lacks" eval 'dedupfs-stat "$mnt" | grep -q "^Remote: .*another writer" && [ "$(of_remote lacking_bytes)" -ge 0 ]'
mkdir -p "$there"
check "the other one is mounted" dedupfs "$restored" "$there" -o remote_lag=0
has_only_what_was_written() { # and all that came before it
  local count i
  count=$(ls "$there" | wc -l)
  for ((i = 1; i < count; ++i)); do cmp -s "$there/$i" <(noise "live $i" 20000) || return 1; done
  [ "$count" -gt 1 ] && cmp -s -n "$(stat -c %s "$there/$count")" "$there/$count" <(noise "live $count" 20000)
}
check "it has a state that was shipped" has_only_what_was_written
check "and not an older one than the clone" [ "$(dedupfs-remote status --json "$restored" | python3 -c 'import json, sys; print(json.load(sys.stdin)["head"]["sequence"])')" -gt "$((head + 1))" ]
check "it goes on" eval 'echo on >"$there/on" && umount.dedupfs "$there"'
unmount_volume 2>"$scratch/unmounted"
check "the first one names what it lacks" grep -q 's3://bucket/live lacks what was written last' "$scratch/unmounted"
check "and keeps it" eval 'mount_volume ro && [ "$(ls "$mnt" | wc -l)" -ge 2 ]'
unmount_volume
check "the bucket has what came from the other one" eval 'restore && [ "$(cat "$there/on")" = on ]'
give_back

# A store that keeps objects until a date.
place=locked
retain() { # SECONDS
  python3 -c 'import sys, urllib.request as web
web.urlopen(web.Request(sys.argv[1] + "/-/retain", sys.argv[2].encode(), method="PUT"))' "$endpoint" "$1"
}
check "a store retains what it gets" retain 3600
check "a volume is attached there all the same" new_shipped_volume remote_lag=0
write_tree one
dedupfs-remote push "$volume" >/dev/null
rm -r "$mnt/one" && write_tree two && dedupfs-gc --wait "$mnt" >/dev/null 2>&1
check "what was dropped is not deleted, and that is no failure" dedupfs-remote push --grace 0 "$volume"
check "the bucket is whole" dedupfs-remote verify --read-data "$volume"
cp -a "$mnt/two" "$scratch/two"
unmount_volume
check "a push says what the store keeps, and why" eval 'dedupfs-remote push --grace 0 "$volume" >"$scratch/kept" && grep -Eq "^The store keeps [1-9][0-9]* objects .*object lock" "$scratch/kept"'
check "the bucket gives the volume" restore
same_tree "every byte" "$scratch/two" "$there/two"
give_back
retain 0
check "when the date has come, it goes" eval 'dedupfs-remote push --grace 0 "$volume" >"$scratch/gone" && grep -Eq "^Deleted [1-9][0-9]* objects" "$scratch/gone" && ! grep -q "keeps" "$scratch/gone"'

# A volume that is made with its bucket.
rm -rf "$scratch/made"
check "mkfs gives a volume its bucket" mkfs.dedupfs --remote s3://bucket/made --endpoint "$endpoint" "$scratch/made"
check "and it is shipped there" dedupfs-remote push "$scratch/made"
check_refused "a place that has a volume is nobody else's" 8 'dedupfs-remote attach' mkfs.dedupfs --remote s3://bucket/made --endpoint "$endpoint" "$scratch/made-2"
check_refused "a bucket that is not there is told before anything is made" 8 'no-such-bucket' mkfs.dedupfs --remote s3://no-such-bucket/made --endpoint "$endpoint" "$scratch/made-3"
check "so nothing is left" test ! -e "$scratch/made-3"

# fsync that means the bucket.
place=durable
check "a volume is mounted with durability=remote" new_shipped_volume "remote_lag=0,durability=remote"
write_tree one
check "fsync returns" commit
write_tree two # and no fsync
cp -a "$mnt/one" "$scratch/acknowledged"
crash
check "the disk is lost, and the bucket has" restore
same_tree "all that fsync had acknowledged" "$scratch/acknowledged" "$there/one"
give_back
mkfs.dedupfs "$scratch/without" >/dev/null 2>&1
check_refused "a volume without a bucket cannot promise that" 32 'dedupfs-remote attach' dedupfs "$scratch/without" "$mnt" -o durability=remote

# Shipped at once, so that each container is one object.
place=once
check "a volume is mounted that ships at its unmount only" new_shipped_volume remote_lag=3600
for tree in one two three; do write_tree "$tree"; done
cp -a "$mnt" "$scratch/once"
check "which it does" unmount_volume

# A volume that tells the bucket nothing.
place=second
echo secret >"$scratch/key"
check "an encrypted volume is shipped, too" new_shipped_volume "remote_lag=0,key_file=$scratch/key" --encrypt --key-file "$scratch/key" --kdf-memory 64m
write_tree one
check "without its key in the bucket" unmount_volume
mount_volume "ro,key_file=$scratch/key"
check "the bucket gives it to who has the key" restore "key_file=$scratch/key"
same_tree "every byte" "$mnt/one" "$there/one"
unmount_volume
give_back

# With nothing on this machine.
place=first
bucket_mount() { # OPTIONS
  mkdir -p "$there" && dedupfs "s3://bucket/$place" "$there" -o "$1,endpoint=$endpoint" 2>>"$daemon_log"
}
containers_got() {
  python3 -c 'import json, sys, urllib.request as web
print(sum(name.startswith(sys.argv[2]) for name in json.load(web.urlopen(sys.argv[1] + "/-/got"))))' "$endpoint" "$place/c/"
}
check_refused "a bucket is only read" 1 'dedupfs-remote clone' dedupfs "s3://bucket/first" "$there" -o "endpoint=$endpoint"
check_refused "an empty place is named" 32 's3://bucket/nothing holds no volume' dedupfs s3://bucket/nothing "$there" -o "ro,endpoint=$endpoint"
place=once
check "it is cloned" restore
blocks=$(find "$restored/containers" -type f -printf '%s\n' | awk '{blocks += int(($1 + 1048575) / 1048576)} END {print blocks}')
give_back
before=$(containers_got)
check "a volume is mounted in its bucket" bucket_mount ro
check_equal "no container is read for that" "$before" "$(containers_got)"
check "every file is read" eval 'find "$there" -type f -exec cat {} + >/dev/null'
got=$(($(containers_got) - before))
check "with at most one request for each MiB of the containers ($got for $blocks)" test "$got" -ge 1 -a "$got" -le "$blocks"
same_tree "every byte" "$scratch/once" "$there"
check "umount" umount.dedupfs "$there"
place=first
check "and one that was shipped piece by piece" bucket_mount ro
same_tree "every byte" "$scratch/three" "$there/three"
mkdir "$scratch/again"
check "by several at once" dedupfs s3://bucket/first "$scratch/again" -o "ro,endpoint=$endpoint"
same_tree "which see the same" "$scratch/three" "$scratch/again/three"
check "umount.dedupfs takes one away" umount.dedupfs "$scratch/again"
check_refused "nobody writes there" 1 'Read-only' touch "$there/new"
check "dedupfs-stat answers" eval 'dedupfs-stat -v "$there" | grep -q "^Volume .*, mounted"'
check_refused "other tools say what to do" 2 'dedupfs-remote clone' dedupfs-gc "$there"
check "umount" umount.dedupfs "$there"
check "files are taken out of the bucket" dedupfs-extract --endpoint "$endpoint" s3://bucket/first three -o "$scratch/extracted"
same_tree "every byte" "$scratch/three" "$scratch/extracted/three"
place=second
check_refused "an encrypted one is not mounted without its key" 32 'passphrase' setsid dedupfs s3://bucket/second "$there" -o "ro,endpoint=$endpoint"
check "but with it" bucket_mount "ro,key_file=$scratch/key"
mount_volume "ro,key_file=$scratch/key"
same_tree "every byte" "$mnt/one" "$there/one"
unmount_volume
umount.dedupfs "$there"

# A mount that follows.
shown() { [ "$(cat "$there/news" 2>&1)" = "$1" ]; }
mount_volume "remote_lag=0,key_file=$scratch/key"
echo early >"$mnt/news"
dedupfs-remote push "$volume" >/dev/null
check "a mount in the bucket follows newer heads" bucket_mount "ro,remote_follow=1,key_file=$scratch/key"
check_equal "it begins with the newest" early "$(cat "$there/news")"
exec 7<"$there/news"
rm -r "$mnt/one" && echo later >"$mnt/news" && mkdir "$mnt/later"
check "what is not shipped" shown early
dedupfs-remote push "$volume" >/dev/null
check "a newer one is shown" wait_until 30 shown later
check_equal "also to who has a file open" later "$(cat <&7)"
exec 7<&-
check "what is gone is gone" wait_until 60 eval '! [ -e "$there/one" ] && [ -d "$there/later" ]'
check_refused "only there is something to follow" 1 'remote_follow' dedupfs "$volume" "$scratch/again" -o "remote_follow=1,key_file=$scratch/key"
umount.dedupfs "$there"
unmount_volume
place=first
export DEDUPFS_STORE_PATIENCE=12
check "a volume whose store goes away" bucket_mount ro,remote_cache=16m

# Nobody answers.
mount_volume "remote_lag=0,key_file=$scratch/key"
stop_server
check_refused "a store that is gone is named" 2 '127.0.0.1' dedupfs-remote push "$volume"
check_refused "a patience that is none is refused" 2 'DEDUPFS_STORE_PATIENCE' env DEDUPFS_STORE_PATIENCE=soon dedupfs-remote status "$volume"
check "the mount goes on" eval 'echo on >"$mnt/on" && commit'
check "dedupfs-stat says why the bucket lacks it" eval 'dedupfs-stat "$mnt" | grep -q "^Remote: .*the last try failed"'
kill -TERM "$(daemon_pid)"
check "and the system can shut down" wait_until 90 no_daemon
check_refused "a mount that ships refuses it, too" 32 'DEDUPFS_STORE_PATIENCE' env DEDUPFS_STORE_PATIENCE=soon dedupfs "$volume" "$mnt" -o "key_file=$scratch/key"
check "with nothing lost" eval 'mount_volume "ro,key_file=$scratch/key" && [ "$(cat "$mnt/on")" = on ]'
unmount_volume
check_refused "gives an error for what is not in memory" 1 'Input/output error' eval 'cat "$there/three/noise" >/dev/null'
check "and keeps nobody from unmounting" umount.dedupfs "$there"
if is_root; then
  chown -R 65534 "$volume"
  mount_volume "foreign,key_file=$scratch/key"
  check_equal "what others say of a bucket is not believed" None "$(stat_of remote)"
  unmount_volume
  chown -R 0 "$volume"
fi
echo '{' >"$volume/remote.json"
check_refused "a damaged remote.json is named" 32 'remote.json' dedupfs "$volume" "$mnt" -o "key_file=$scratch/key"
finish
