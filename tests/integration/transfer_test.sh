#!/usr/bin/env bash
# dedupfs-send and dedupfs-receive: a snapshot arrives as it was, in volumes with other settings and keys, mounted or not, beside files
# of the receiver's own. Only what changed travels, also after settling and after a reclaim. What breaks goes on, whatever was killed.
. "$(dirname "$0")/lib.sh"

other=$scratch/other   # the receiver's volume
far=$scratch/far       # and where it is mounted
snapshots_of() { dedupfs-snapshot list --quick --json "$1" | python3 -c 'import json, sys; print(*[s["name"] for s in json.load(sys.stdin)["snapshots"]])'; }
# sent_bytes ARGUMENT...: how long that stream would be.
sent_bytes() { dedupfs-send --dry-run --json "$volume" "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)["stream_bytes"])'; }

new_volume --chunker fastcdc:avg=16k
remount "$(is_root && echo allow_other,)snapshots=visible"
mkdir -p "$mnt/docs/deep" "$mnt/work"
noise 1 8000000 >"$mnt/docs/big"
noise 2 300000 >"$mnt/docs/deep/small"
echo tiny >"$mnt/docs/tiny"
ln "$mnt/docs/big" "$mnt/docs/deep/big too"
ln -s ../somewhere "$mnt/docs/link"
mkfifo "$mnt/docs/pipe"
truncate -s 20M "$mnt/docs/hole"
printf middle | dd of="$mnt/docs/hole" bs=1 seek=9000000 conv=notrunc status=none
setfattr -n user.note -v value "$mnt/docs/tiny"
setfacl -m u:1234:rw,m::rw "$mnt/docs/tiny"
setfacl -m d:g:4321:rx "$mnt/docs/deep"
touch "$mnt/docs/deep/$(printf 'odd\n\001 \377 name')"
! is_root || { chown 1234:4321 "$mnt/docs/tiny"; chmod u+s "$mnt/docs/tiny"; mknod "$mnt/docs/device" c 1 3; }
touch -d '2001-02-03 04:05:06.789' "$mnt/docs/big" "$mnt/docs"
dedupfs-snapshot create "$mnt" monday 2>/dev/null

# What programs do: a file replaced, one edited in the middle, folders moved into each other, names that are taken again.
(noise 1 3000000; echo inserted; noise 1 8000000 | tail -c +3000001) >"$mnt/docs/new" && mv "$mnt/docs/new" "$mnt/docs/big"
printf changed | dd of="$mnt/docs/deep/small" bs=1 seek=150000 conv=notrunc status=none
mv "$mnt/docs/deep" "$mnt/work/deep" && mkdir "$mnt/docs/deep" && mv "$mnt/work" "$mnt/docs/deep/work"
rm "$mnt/docs/pipe" && echo "a file now" >"$mnt/docs/pipe"
setfattr -x user.note "$mnt/docs/tiny"
truncate -s 9M "$mnt/docs/hole"
dedupfs-snapshot create "$mnt" tuesday 2>/dev/null
dedupfs-snapshot hold "$mnt" tuesday --until 30d 2>/dev/null

passphrase=$scratch/passphrase
echo "correct horse" >"$passphrase"
mkfs.dedupfs --encrypt --key-file "$passphrase" --kdf-memory 8m "$other" >/dev/null 2>&1
mkdir "$far"
mount_far() { dedupfs -o "key_file=$passphrase,snapshots=visible$(is_root && echo ,allow_other)" "$other" "$far" 2>>"$daemon_log"; }
mount_far
mkdir "$far/mine"
echo mine >"$far/mine/file"

check "a snapshot goes from a mount to a mount, to another chunker and a key" eval \
  'dedupfs-send "$mnt" --snapshot monday | dedupfs-receive "$far"'
same_tree "it is the same" "$mnt/.snapshots/monday/docs" "$far/.snapshots/monday/docs"
check_equal "the receiver's own files stay" mine "$(cat "$far/mine/file")"
check_equal "the date is that of the sender" \
  "$(dedupfs-snapshot list --quick --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["snapshots"][0]["created_unix_seconds"])')" \
  "$(dedupfs-snapshot list --quick --json "$far" | python3 -c 'import json, sys; print(json.load(sys.stdin)["snapshots"][0]["created_unix_seconds"])')"
ls -lR "$far" >/dev/null # so that the kernel has names and attributes that change now
cat "$far/docs/big" "$far/docs/deep/small" >/dev/null
echo more >>"$far/mine/file"
check "changes follow" eval 'dedupfs-send "$mnt" --snapshot tuesday --since monday | dedupfs-receive "$far"'
same_tree "they are the same" "$mnt/.snapshots/tuesday/docs" "$far/.snapshots/tuesday/docs"
same_tree "the mount shows them at once, whatever the kernel had" "$far/.snapshots/tuesday/docs" "$far/docs"
check_refused "the hold of the sender came, too" 2 'held' dedupfs-snapshot delete "$far" tuesday
check_refused "the same one again is refused" 2 "has got snapshot 'tuesday' already" eval \
  'dedupfs-send "$mnt" --snapshot tuesday --since monday | dedupfs-receive "$far"'

changes=$(sent_bytes --snapshot tuesday --since monday)
check "only what changed travels" test "$changes" -lt 5000
unmount_volume
dedupfs-gc --settle --wait "$volume" >/dev/null 2>&1
check "what settling moved makes no difference" test "$(sent_bytes --snapshot tuesday --since monday)" -lt 5000
check "a volume that is not mounted sends to one that is" eval \
  'dedupfs-send "$volume" --snapshot monday | dedupfs-receive --into copies --as copies-monday "$far"'
mount_volume "snapshots=visible$(is_root && echo ,allow_other)"
same_tree "a folder of its own has all of it" "$mnt/.snapshots/monday" "$far/.snapshots/copies-monday/copies"

echo changed >"$far/copies/docs/tiny"
check_refused "files that were changed here are named" 2 'copies/docs/tiny' eval \
  'dedupfs-send "$mnt" --snapshot tuesday --since monday | dedupfs-receive --into copies --as copies-tuesday "$far"'
check_refused "a stream that builds on what is not here is refused" 2 "copy of 'monday'" eval \
  'dedupfs-send "$mnt" --snapshot tuesday --since monday | dedupfs-receive --into empty "$far"'
check_refused "a snapshot that is not there is named" 2 "no snapshot 'sunday'" dedupfs-send "$mnt" --snapshot sunday --to-file "$scratch/none"
check "and nothing is left of the file" test ! -e "$scratch/none"
check_refused "bytes that are no stream are refused" 2 'no stream of dedupfs-send' eval 'echo hello, hello | dedupfs-receive --into other "$far"'

# Archives.
check "a snapshot goes into a file" dedupfs-send "$mnt" --snapshot monday --to-file "$scratch/monday"
check "and its changes" dedupfs-send "$mnt" --snapshot tuesday --since monday --to-file "$scratch/tuesday"
check_equal "for its owner only" 600 "$(stat -c %a "$scratch/monday")"
check "files are received" eval 'dedupfs-receive --from-file "$scratch/monday" --into files --as files-1 "$far" &&
  dedupfs-receive --from-file "$scratch/tuesday" --into files --as files-2 "$far"'
same_tree "they have all of it" "$mnt/.snapshots/tuesday" "$far/.snapshots/files-2/files"
check "files are taken out of an archive" dedupfs-extract "$scratch/monday" docs -o "$scratch/taken"
same_tree "as they were" "$mnt/.snapshots/monday/docs" "$scratch/taken/docs"
check_refused "of changes alone nothing can be taken" 2 'only a part of snapshot' dedupfs-extract "$scratch/tuesday" -o "$scratch/taken"
python3 - "$scratch/monday" "$scratch/damaged" <<'PY'
import sys
stream = bytearray(open(sys.argv[1], "rb").read())
stream[len(stream) // 2] ^= 1
open(sys.argv[2], "wb").write(stream)
PY
check_refused "a damaged one is found" 2 'the stream is damaged' dedupfs-receive --from-file "$scratch/damaged" --into bad --as bad "$far"

# Interruptions: the connection, the daemon of the receiver.
half=$(($(stat -c %s "$scratch/monday") / 2))
check_refused "a stream that ends early is told, with what to do" 2 'dedupfs-send --resume' eval \
  'head -c "$half" "$scratch/monday" | dedupfs-receive --into part --as part-monday "$far"'
token=$(dedupfs-receive --token --into part "$far")
check "the token is that of the message" test -n "$token"
check "it goes on there" eval 'dedupfs-send "$mnt" --resume "$token" --to-file "$scratch/rest" && dedupfs-receive --from-file "$scratch/rest" --into part --as part-monday "$far"'
check "what was there did not travel again" test "$(stat -c %s "$scratch/rest")" -lt $(($(stat -c %s "$scratch/monday") * 8 / 10))
same_tree "and has all of it" "$mnt/.snapshots/monday" "$far/.snapshots/part-monday/part"
check_equal "then there is no token" "" "$(dedupfs-receive --token --into part "$far")"

mkfifo "$scratch/slow"
# Not by way of the check of JSON, which shows what is printed at the end.
"$tools/dedupfs-receive" --json --progress --into shown --as shown-monday "$far" <"$scratch/slow" >"$scratch/shown" 2>&1 &
receiver=$!
exec 7>"$scratch/slow"
head -c "$half" "$scratch/monday" >&7
echo "$half" >"$scratch/position"
is_shown() { # after a little more
  local position
  position=$(cat "$scratch/position")
  head -c "$((position + 1000))" "$scratch/monday" | tail -c 1000 >&7
  echo "$((position + 1000))" >"$scratch/position"
  grep -Eq '"stage": *"receive"' "$scratch/shown" && grep -Eq '"done_bytes": *[1-9]' "$scratch/shown"
}
check "how far the daemon is with a stream is shown" wait_until 20 is_shown
tail -c "+$(($(cat "$scratch/position") + 1))" "$scratch/monday" >&7
exec 7>&-
wait "$receiver"
check_equal "and then the snapshot is there" 0 $?

dedupfs-receive --into killed --as killed-monday "$far" <"$scratch/slow" >/dev/null 2>"$scratch/killed.err" &
receiver=$!
exec 7>"$scratch/slow"
head -c "$half" "$scratch/monday" >&7
wait_until 20 test -e "$far/killed/docs/deep/small"
check_refused "one stream is received at a time" 2 'receiving another stream' dedupfs-receive --from-file "$scratch/monday" --into second --as second "$far"
sync "$far"
kill -9 "$(daemon_pid "$other")"
wait "$receiver"
check_equal "a daemon that is killed ends the receive" 2 $?
exec 7>&-
wait_until 60 no_daemon "$other"
fusermount3 -u -z "$far" 2>/dev/null || umount -l "$far"
mount_far
token=$(dedupfs-receive --token --into killed "$far")
check "after a crash, the token is there" test -n "$token"
check "and it goes on" eval 'dedupfs-send "$mnt" --resume "$token" | dedupfs-receive --into killed --as killed-monday "$far"'
same_tree "with all of it" "$mnt/.snapshots/monday" "$far/.snapshots/killed-monday/killed"

# An unmount ends a receive at once.
dedupfs-receive --into late --as late "$far" <"$scratch/slow" >/dev/null 2>"$scratch/late.err" &
receiver=$!
exec 7>"$scratch/slow"
head -c 100000 "$scratch/monday" >&7
wait_until 20 test -d "$far/late"
check "an unmount waits for no sender" umount.dedupfs "$far"
wait "$receiver"
exec 7>&-
check "and the receiver is told" grep -q 'unmount' "$scratch/late.err"
check "fsck finds nothing" fsck.dedupfs -n --verify-data --key-file "$passphrase" "$other"
check "from the encrypted volume back to a plain one, neither mounted" eval 'mkfs.dedupfs "$scratch/plain" >/dev/null 2>&1 &&
  dedupfs-send --key-file "$passphrase" "$other" --snapshot tuesday | dedupfs-receive "$scratch/plain"'
check_equal "it has that snapshot" tuesday "$(snapshots_of "$scratch/plain")"
unmount_volume

# A reclaim moves what the snapshots have, and makes deltas anew whose sources were of the first generation only.
new_volume --chunker fastcdc:avg=16k
remount "$(is_root && echo allow_other,)snapshots=visible"
dedupfs-gc --pause "$mnt" >/dev/null # none begins by itself
mkdir "$mnt/docs"
shortened() { python3 -c 'import sys; data = sys.stdin.buffer.read(); [sys.stdout.buffer.write(data[at:at + 10000]) for at in range(0, len(data), 16000)]'; }
generation() { # NUMBER: each piece of it lies between junk, which goes again
  local i
  for i in 1 2 3; do
    case $1 in
      1) noise "docs $i" 3000000 ;;
      2) shortened <"$mnt/docs/$i" ;;
      3) near_duplicate "$mnt/docs/$i" 0 700 ;;
    esac >"$mnt/docs/new"
    mv "$mnt/docs/new" "$mnt/docs/$i"
    noise "added $1 $i" 50000 >"$mnt/docs/added $1 $i"
    noise "junk $1 $i" 6000000 >"$mnt/junk $i"
    commit
  done
  rm "$mnt"/junk*
  dedupfs-snapshot create "$mnt" "generation-$1" 2>/dev/null
}
for i in 1 2 3; do generation "$i"; done
dedupfs-snapshot delete "$mnt" generation-1 2>/dev/null
mkfs.dedupfs "$scratch/third" >/dev/null 2>&1
dedupfs-send "$mnt" --snapshot generation-2 | dedupfs-receive "$scratch/third" >/dev/null 2>&1
of_last() { dedupfs-gc --status --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["last"][sys.argv[1]])' "$1"; }
before=$(sent_bytes --snapshot generation-3 --since generation-2)
check "a reclaim takes the junk away" eval 'dedupfs-gc --wait "$mnt" && [ "$(of_last freed_bytes)" -ge 54000000 ]'
check "it moves what was beside it" test "$(of_last moved_bytes)" -gt 2000000
check "and makes deltas anew" test "$(of_last rebased_chunks)" -ge 20
after=$(sent_bytes --snapshot generation-3 --since generation-2)
check "the changes take as many bytes as before it, but for a tenth ($before, $after)" test $((after * 10)) -le $((before * 11)) -a $((after * 10)) -ge $((before * 9))
check "whoever got the older snapshot before it takes the changes" eval \
  'dedupfs-send "$mnt" --snapshot generation-3 --since generation-2 | dedupfs-receive "$scratch/third" && dedupfs -o "snapshots=visible$(is_root && echo ,allow_other)" "$scratch/third" "$far"'
same_tree "every byte" "$mnt/.snapshots/generation-3/docs" "$far/.snapshots/generation-3/docs"
umount.dedupfs "$far"
unmount_volume
finish
