#!/usr/bin/env bash
# Makes golden volumes: small volumes as this version writes them, which every later version must read. Each is
# NAME.tar.gz with NAME.manifest, what the mounted volume showed (see manifest.py), and NAME.SNAPSHOT.snapshot, the same of each
# of its snapshots.
#
# Goldens are only ever added, never made again: one that exists is left alone. A change of the format, or of what is
# written in it, adds a volume with a new name, made by the version that makes the change.
#
# Usage: make.sh FOLDER-OF-PROGRAMS [NAME...]     as root, for device files and owners

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(realpath "$1"):/usr/bin:$PATH:/usr/sbin:/sbin
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-golden.XXXXXX")
volume=$work/volume
mnt=$work/mnt
mkdir "$mnt"
trap 'umount -l "$mnt" 2>/dev/null || true; rm -rf "$work"' EXIT
umask 022

# text SEED LINES: compresses well, and no two chunks of it are equal. noise SEED BYTES: does not compress.
text() {
  python3 -c 'import random, sys
draw = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])): print("a line of text that says", draw.randrange(40), "and no more than that")' "$@"
}
noise() { python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(sys.argv[1]).randbytes(int(sys.argv[2])))' "$@"; }

# Nothing changes an access time, nothing is committed unless asked for.
mount_volume() { dedupfs "$volume" "$mnt" -o "noatime,commit=300${1:+,$1}"; }

# pack NAME: the unmounted volume.
pack() {
  : >"$volume/lock" # else it names a process
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - volume | gzip -9n >"$here/$1.tar.gz"
}

# What the tree and each snapshot hold, seen through a read-only mount, and the volume itself.
pack_with_snapshots() {
  local snapshot
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/$1.manifest"
  for snapshot in "$mnt"/.snapshots/*; do
    python3 "$here/manifest.py" "$snapshot" >"$here/$1.$(basename "$snapshot").snapshot"
  done
  umount.dedupfs "$mnt"
  pack "$1"
}

make_v1_basic() {
  mkfs.dedupfs --chunker gear:avg=1k "$volume"
  mount_volume
  cd "$mnt"
  mkdir -p folder/deep/deeper empty-folder
  : >empty
  echo tiny >folder/inline
  noise 1 512 >folder/largest-inline
  noise 2 513 >folder/smallest-chunk
  text 3 12000 >text # several regions
  (noise 4 8000; text 5 1000; noise 4 8000) >folder/duplicates
  noise 6 16384 >block
  for _ in $(seq 100); do cat block; done >many-segments # more than 1024 entries in its recipe, of few chunks
  truncate -s 40M sparse
  echo middle | dd of=sparse bs=1 seek=10000000 conv=notrunc status=none
  text 7 300 | dd of=sparse bs=1 seek=30000001 conv=notrunc status=none
  cp text overwritten
  echo changed | dd of=overwritten bs=1 seek=300000 conv=notrunc status=none
  truncate -s 500000 overwritten
  truncate -s 700000 overwritten
  ln text folder/deep/hard-link
  ln -s ../text folder/soft-link
  ln -s "$(printf 'nowhere/\377')" dangling
  mkfifo fifo
  mknod character c 1 3
  mknod block-device b 259 1048575
  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
  mkdir names
  echo 1 >names/"$(printf 'line\nfeed')"
  echo 2 >names/"$(printf '\377\376 "*%%')"
  echo 3 >names/ünicode
  echo 4 >names/"$(printf 'n%.0s' $(seq 255))"
  echo 5 >' '
  setfattr -n user.comment -v kept folder
  setfattr -n user.empty folder/inline
  setfattr -n user.large -v "$(text 8 40)" folder/inline
  setfattr -h -n trusted.link -v yes dangling
  setfacl -m u:1234:rw,g:5:r,d:u:1234:rwx folder/deep
  setfacl -m u:99:r text
  chmod 4751 empty
  chmod 1777 empty-folder
  chmod 0 folder/smallest-chunk
  chown 1000:2000 folder/inline
  chown -h 4294967294:4294967294 dangling
  touch -d '1901-01-01 00:00:00.000000001 UTC' folder/inline
  touch -d '2446-05-10 22:38:55.999999999 UTC' text
  touch -h -d '1999-12-31 23:59:59.5 UTC' folder/soft-link
  rm block
  mv names/ünicode folder/deep/deeper/renamed
  cd "$work"
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/v1-basic.manifest"
  umount.dedupfs "$mnt"
  pack v1-basic
}

make_v1_none() {
  mkfs.dedupfs --chunker vram:avg=2k,window=1k --compression none --label 'a label: "ä"' "$volume"
  mount_volume
  text 11 3000 >"$mnt/text"
  noise 12 30000 >"$mnt/noise"
  cat "$mnt/text" "$mnt/noise" "$mnt/text" >"$mnt/both"
  umount.dedupfs "$mnt"
  mount_volume # a second session: another container, other chunk ids
  text 11 3500 >"$mnt/text"
  rm "$mnt/noise"
  mkdir "$mnt/folder"
  noise 13 3000 >"$mnt/folder/more"
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/v1-none.manifest"
  umount.dedupfs "$mnt"
  pack v1-none
}

# Killed after a commit: the changes of that are in the log of the index alone, the container is not sealed and goes on
# with regions that no commit knows.
make_v1_crashed() {
  mkfs.dedupfs --chunker gear16:avg=4k "$volume"
  mount_volume
  text 21 9000 >"$mnt/before"
  mkdir "$mnt/folder"
  umount.dedupfs "$mnt"
  mount_volume
  noise 22 30000 >"$mnt/folder/synced"
  text 23 100 >>"$mnt/before"
  noise 25 5000 >"$mnt/orphan"
  exec 9<"$mnt/orphan"
  rm "$mnt/orphan" # still open: an orphan, which the next mount deletes
  sync "$mnt"
  python3 "$here/manifest.py" "$mnt" >"$here/v1-crashed.manifest"
  text 24 30000 >"$mnt/lost"
  echo lost >>"$mnt/before"
  sleep 2 # what was closed is packed and written meanwhile
  kill -9 "$(cat "$volume/lock")"
  exec 9<&-
  umount -l "$mnt"
  rm -f "$volume/control.sock"
  pack v1-crashed
}

# edit SEED FILE: a version of the file that differs in a few places: bytes changed, inserted and deleted.
edit() {
  python3 -c 'import random, sys
draw = random.Random(int(sys.argv[1]))
data = bytearray(open(sys.argv[2], "rb").read())
for change in ("replace", "insert", "delete", "replace"):
    at = draw.randrange(len(data) - 40)
    data[at : at + {"replace": 3, "insert": 0, "delete": 20}[change]] = draw.randbytes({"replace": 3, "insert": 15, "delete": 0}[change])
sys.stdout.buffer.write(data)' "$@"
}

# Deltas of deltas, made from chunks that follow each other and from others, in several containers; bases that no file has.
make_v1_delta() {
  mkfs.dedupfs --chunker gear:avg=2k --delta odess+:depth=3,neighbours=2,index=1m "$volume"
  mount_volume
  noise 31 24000 >"$mnt/noise-0"
  text 32 400 >"$mnt/text-0"
  for version in 1 2 3 4 5; do
    [ "$version" != 3 ] || { umount.dedupfs "$mnt" && mount_volume; }
    for kind in noise text; do
      edit "$version" "$mnt/$kind-$((version - 1))" >"$work/edited"
      cat "$work/edited" >"$mnt/$kind-$version"
      sync "$mnt/$kind-$version" # stored, and the next version finds it
    done
  done
  cat "$mnt/noise-5" "$mnt/noise-1" >"$mnt/both"
  rm "$mnt/noise-0" "$mnt/noise-2"
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/v1-delta.manifest"
  umount.dedupfs "$mnt"
  pack v1-delta
}

# The base alone as the source, no delta of a delta, nothing compressed.
make_v1_delta_shallow() {
  mkfs.dedupfs --chunker fixed:size=4k --compression none --delta n-transform:depth=1,neighbours=0,index=1m "$volume"
  mount_volume
  noise 41 20000 >"$mnt/disk-0"
  for version in 1 2 3; do
    cat "$mnt/disk-$((version - 1))" >"$mnt/disk-$version"
    noise "4$version" 30 | dd of="$mnt/disk-$version" bs=1 seek=$((version * 5000)) conv=notrunc status=none
    sync "$mnt/disk-$version"
  done
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/v1-delta-shallow.manifest"
  umount.dedupfs "$mnt"
  pack v1-delta-shallow
}

# A region whose chunks were damaged, and written again in another order: they moved, each with its id. Checkpoints, and the
# findings of scrubs.
make_v1_healed() {
  mkfs.dedupfs --chunker fixed:size=2k --compression none --delta none "$volume"
  mount_volume
  mkdir "$mnt/folder"
  noise 51 20480 >"$mnt/folder/damaged"
  noise 52 3000 >"$mnt/whole"
  setfattr -n user.comment -v kept "$mnt/folder/damaged"
  umount.dedupfs "$mnt"
  python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(9000)
    byte = file.read(1)[0]
    file.seek(9000)
    file.write(bytes([byte ^ 1]))' "$volume/containers/0000000001.container"
  mount_volume
  dedupfs-scrub --wait "$mnt" >/dev/null || true
  noise 51 20480 | head -c 14336 | tail -c 8192 >"$mnt/middle"
  sync "$mnt/middle"
  noise 51 20480 | tail -c 6144 >"$mnt/end"
  noise 52 3000 >"$mnt/again"
  sync "$mnt/end"
  noise 51 20480 | head -c 6144 >"$mnt/start"
  umount.dedupfs "$mnt"
  mount_volume
  dedupfs-scrub --wait "$mnt" >/dev/null
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/v1-healed.manifest"
  umount.dedupfs "$mnt"
  pack v1-healed
}

# Two snapshots, and images of all families: of what was changed, removed, renamed, added, and changed again behind the second.
make_v1_snapshots() {
  mkfs.dedupfs --chunker fixed:size=1k "$volume"
  mount_volume
  mkdir -p "$mnt/folder/below"
  noise 61 60000 >"$mnt/folder/changed"
  for _ in $(seq 30); do noise 62 40000; done >"$mnt/two-segments"
  echo removed >"$mnt/folder/removed"
  echo old >"$mnt/renamed"
  setfattr -n user.comment -v first "$mnt/folder/changed"
  ln "$mnt/folder/changed" "$mnt/linked"
  dedupfs-snapshot create "$mnt" first
  noise 63 9000 | dd of="$mnt/folder/changed" bs=1 seek=20000 conv=notrunc status=none
  noise 64 1000 >>"$mnt/two-segments"
  rm "$mnt/folder/removed"
  mv "$mnt/renamed" "$mnt/folder/below/new-name"
  setfattr -n user.comment -v second "$mnt/folder/changed"
  echo 0 >"$mnt/$(printf 'n\001\377')"
  dedupfs-snapshot create "$mnt" 'the second'
  noise 65 5000 >"$mnt/folder/changed"
  rm "$mnt/linked" "$mnt/$(printf 'n\001\377')"
  chmod 700 "$mnt/folder"
  echo added >"$mnt/folder/added"
  pack_with_snapshots v1-snapshots
}

# Data that was settled, data that needed no settling, and data that landed.
make_v1_tiers() {
  mkfs.dedupfs --chunker gear:avg=1k --settled zstd:9 --landing zstd:1 "$volume"
  mount_volume settle=off,slow_source=0
  text 71 6000 >"$mnt/settled"
  dedupfs-gc --settle --wait "$mnt"
  noise 72 20000 >"$mnt/incompressible"
  text 73 6000 >"$mnt/landed"
  sync "$mnt"
  python3 "$here/manifest.py" "$mnt" >"$here/v1-tiers.manifest"
  umount.dedupfs "$mnt"
  pack v1-tiers
}

# Generations that a reader of the newest would have to gather from many places, gathered by a settling: deltas lie beside their sources,
# and the index says up to where that was done.
make_v1_gathered() {
  local number
  mkfs.dedupfs --chunker fixed:size=1k --settled zstd:9 --landing zstd:1 "$volume"
  text 101 4000 >"$work/content"
  for number in 1 2 3 4 5 6; do
    mount_volume settle=off,slow_source=0
    cp "$work/content" "$mnt/generation-$number"
    umount.dedupfs "$mnt"
    python3 -c 'import random, sys
draw = random.Random(int(sys.argv[2]))
with open(sys.argv[1], "r+b") as content:
    for place in range(draw.randrange(3), 240, 3): content.seek(place * 1024 + draw.randrange(900)); content.write(b"%d" % draw.randrange(10**9))' \
      "$work/content" "$number"
  done
  dedupfs-gc --settle "$volume"
  mount_volume
  python3 "$here/manifest.py" "$mnt" >"$here/v1-gathered.manifest"
  umount.dedupfs "$mnt"
  pack v1-gathered
}

# A snapshot that is held until a date, one that is held until somebody releases it, and one that is free.
# One of a build that gave snapshots no UUID, and a snapshot that has one.
make_v1_snapshot_uuids() {
  tar -C "$work" -xzf "$here/v1-snapshots.tar.gz"
  mount_volume
  noise 66 2000 | dd of="$mnt/folder/changed" bs=1 seek=1000 conv=notrunc status=none
  rm "$mnt/folder/added"
  dedupfs-snapshot create "$mnt" 'with a UUID'
  echo later >"$mnt/later"
  pack_with_snapshots v1-snapshot-uuids
}
make_v1_holds() {
  local snapshot
  mkfs.dedupfs --chunker fixed:size=1k "$volume"
  mount_volume
  noise 81 5000 >"$mnt/file"
  for snapshot in dated released free; do
    dedupfs-snapshot create "$mnt" "$snapshot"
    noise 82 500 >>"$mnt/file"
  done
  dedupfs-snapshot hold "$mnt" dated --until '2100-01-01 00:00'
  dedupfs-snapshot hold "$mnt" released
  pack_with_snapshots v1-holds
}

make_v1_quotas() {
  mkfs.dedupfs --chunker gear:avg=1k "$volume"
  mount_volume
  mkdir -p "$mnt/limited/below" "$mnt/free" "$mnt/removed"
  noise 91 5000 >"$mnt/limited/file"
  ln "$mnt/limited/file" "$mnt/limited/below/second name"
  noise 92 3000 >"$mnt/removed/file"
  dedupfs-quota set "$mnt/removed" --files 10
  dedupfs-quota set "$mnt/limited" --logical 1m --stored 2m --files 100
  dedupfs-quota remove "$mnt/removed"
  dedupfs-snapshot create "$mnt" "then"
  noise 93 700 >"$mnt/limited/below/later"
  truncate -s 100000 "$mnt/limited/sparse"
  noise 94 2000 >"$mnt/free/file"
  pack_with_snapshots v1-quotas
}

# Samples of the history, of two mounts.
make_v1_history() {
  mkfs.dedupfs --chunker fixed:size=1k "$volume"
  mount_volume
  noise 91 40000 >"$mnt/file"
  cp "$mnt/file" "$mnt/copy"
  umount.dedupfs "$mnt"
  mount_volume
  rm "$mnt/file"
  noise 92 3000 >"$mnt/more"
  umount.dedupfs "$mnt"
  mount_volume ro
  python3 "$here/manifest.py" "$mnt" >"$here/v1-history.manifest"
  umount.dedupfs "$mnt"
  pack v1-history
}

# encrypted_volume MKFS-OPTION...: with a passphrase that the tests know, or with one that is changed for it later.
encrypted_volume() {
  echo 'a passphrase for everybody' >"$work/key"
  echo 'a former passphrase' >"$work/former-key"
  chmod 600 "$work"/{key,former-key}
  mkfs.dedupfs --encrypt --key-file "${key:-$work/key}" --kdf-memory 8m --chunker gear:avg=1k "$@" "$volume"
}

make_v1_encrypted() {
  encrypted_volume --cipher aes-256-gcm --label 'a secret label'
  mount_volume "key_file=$work/key"
  mkdir "$mnt/folder"
  noise 95 30000 >"$mnt/folder/file"
  text 96 3000 >"$mnt/text"
  umount.dedupfs "$mnt"
  mount_volume "key_file=$work/key" # files of an earlier mount go on
  text 96 3300 >"$mnt/text"
  dedupfs-snapshot create "$mnt" "then"
  noise 97 700 >"$mnt/folder/later"
  umount.dedupfs "$mnt"
  mount_volume "ro,key_file=$work/key"
  python3 "$here/manifest.py" "$mnt" >"$here/v1-encrypted.manifest"
  python3 "$here/manifest.py" "$mnt/.snapshots/then" >"$here/v1-encrypted.then.snapshot"
  umount.dedupfs "$mnt"
  pack v1-encrypted
}

# Files that were open at a crash have no map, and there is no list of files.
make_v1_encrypted_crashed() {
  encrypted_volume --cipher chacha20-poly1305
  mount_volume "key_file=$work/key"
  text 98 2000 >"$mnt/before"
  umount.dedupfs "$mnt"
  mount_volume "key_file=$work/key"
  noise 99 30000 >"$mnt/synced"
  text 98 100 >>"$mnt/before"
  sync "$mnt"
  python3 "$here/manifest.py" "$mnt" >"$here/v1-encrypted-crashed.manifest"
  text 100 3000 >"$mnt/lost"
  sleep 2
  kill -9 "$(cat "$volume/lock")"
  umount -l "$mnt"
  rm -f "$volume/control.sock"
  pack v1-encrypted-crashed
}

# Two master keys: what was written before a rotation is under the former one.
make_v1_encrypted_rotated() {
  key=$work/former-key encrypted_volume --cipher aes-256-gcm
  mount_volume "key_file=$work/former-key"
  noise 101 60000 >"$mnt/before"
  umount.dedupfs "$mnt"
  dedupfs-key rotate --key-file "$work/former-key" --new-key-file "$work/key" "$volume"
  mount_volume "key_file=$work/key"
  text 102 3000 >"$mnt/after"
  umount.dedupfs "$mnt"
  mount_volume "ro,key_file=$work/key"
  python3 "$here/manifest.py" "$mnt" >"$here/v1-encrypted-rotated.manifest"
  umount.dedupfs "$mnt"
  pack v1-encrypted-rotated
}

[ $# -gt 0 ] || set -- v1-basic v1-none v1-crashed v1-delta v1-delta-shallow v1-healed v1-snapshots v1-snapshot-uuids v1-tiers v1-gathered v1-holds v1-quotas v1-history v1-encrypted v1-encrypted-crashed v1-encrypted-rotated
for name; do
  if [ -e "$here/$name.tar.gz" ]; then
    echo "$name exists and stays as it is"
    continue
  fi
  rm -rf "$volume"
  "make_${name//-/_}"
  ls -l "$here/$name.tar.gz"
done
