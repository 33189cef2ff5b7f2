#!/usr/bin/env bash
# A disk that is carried between machines with different versions of RocksDB: each kind of golden volume, as the programs of one system
# write it today, is read, changed, killed and closed by those of another, and goes back. So does a volume with a tree of real files: its files are
# extracted, it is sent in both directions, and its index is made anew.
# Prints PASS or FAIL and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/carried_test.sh SYSTEM SYSTEM     as root
#   SYSTEM   ROOT:FOLDER, a root, as scripts/test-distribution makes it, and in it the folder with the programs. This machine is /:FOLDER
# It needs /dev/fuse and unshare, and in each system bash, python3, acl and attr.
set -uo pipefail

here=$(realpath "$(dirname "$0")")
golden=$here/../golden/volumes
give_up() { echo "FAIL environment: $1"; echo "0 passed, 1 failed"; exit 1; }
[ $# -eq 2 ] || give_up "name two systems"
[ "$(id -u)" -eq 0 ] || give_up "not root"
[ -c /dev/fuse ] || give_up "/dev/fuse is missing"
for system; do [ -x "${system%%:*}/${system#*:}/dedupfs" ] || give_up "${system%%:*} has no ${system#*:}/dedupfs"; done
# What is mounted from here on goes with the script.
if [ -z "${IN_OWN_NAMESPACE:-}" ]; then IN_OWN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"; fi

disk=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-carried.XXXXXX")") # the same path in both systems
volume=$disk/volume mnt=$disk/mnt
mkdir "$mnt"
passed=0
clean_up() {
  local system
  for system in "${systems[@]}"; do
    umount -l "${system%%:*}/$mnt" 2>/dev/null
    [ "${system%%:*}" = / ] || { umount --recursive -l "${system%%:*}/$disk" && rmdir "${system%%:*}/$disk"; } 2>/dev/null
  done
  rm -rf --one-file-system "$disk"
}
systems=("$@")
trap clean_up EXIT
trap 'exit 130' INT TERM

# shellcheck source=../integration/checks.sh
. "$here/../integration/checks.sh"
pass() { echo "PASS $1"; passed=$((passed + 1)); }

for system in "${systems[@]}"; do
  root=${system%%:*}
  [ "$root" != / ] || continue
  mkdir -p "$root/$disk"
  mount --bind "$disk" "$root/$disk"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
done

# inside SYSTEM COMMAND...: with its programs, and its libraries.
inside() {
  local system=$1
  shift
  chroot "${system%%:*}" env -i HOME=/root LANG=C.UTF-8 "TMPDIR=$disk" "PATH=${system#*:}:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}
tree() { echo "${1%%:*}/$mnt"; } # of the mounted volume
mount_in() { # SYSTEM OPTIONS
  inside "$1" dedupfs "$volume" "$mnt" -o "noatime,commit=300,$2${key:+,key_file=$key}"
}
unmount_in() { inside "$1" umount.dedupfs "$mnt"; }
# kill_in SYSTEM: what was not committed is lost, and the log of the index stays.
kill_in() {
  local pid
  pid=$(cat "$volume/lock") && kill -9 "$pid" || return 1
  wait_until 30 is_gone "$pid" || return 1
  umount -l "$(tree "$1")"
  rm -f "$volume/control.sock"
}
is_gone() { ! kill -0 "$1"; }
check_volume() { inside "$1" fsck.dedupfs -n --verify-data ${key:+--key-file "$key"} "$volume"; }
library_of() { inside "$1" dedupfs --version | sed -nE 's/.*(RocksDB [0-9.]+).*/\1/p'; }

# shows SYSTEM FILE: the mounted tree is what the manifest says.
shows() { diff "$2" <(python3 "$golden/manifest.py" "$(tree "$1")"); }
snapshots_show() { # SYSTEM PREFIX: as shows(), for PREFIX.NAME.snapshot
  local file name
  for file in "$2".*.snapshot; do
    [ -e "$file" ] || continue
    name=${file#"$2".}
    diff "$file" <(python3 "$golden/manifest.py" "$(tree "$1")/.snapshots/${name%.snapshot}") || return 1
  done
}
# change_in SYSTEM NUMBER: adds, replaces and removes enough that the index has new tables, and keeps what the tree is then in $disk/manifest.
change_in() {
  local folder
  folder=$(tree "$1")/carried
  mkdir -p "$folder" &&
    python3 - "$folder" "$2" <<'PYTHON' && sync "$folder" && python3 "$golden/manifest.py" "$(tree "$1")" >"$disk/manifest"
import os, random, sys
folder, draw = sys.argv[1], random.Random(sys.argv[2])
for number in range(300):
    with open(f"{folder}/{number}", "wb") as file:
        file.write(draw.randbytes(draw.randrange(4000)))
for number in draw.sample(range(300), 60):
    os.remove(f"{folder}/{number}")
PYTHON
}

# carry NAME MAKER READER: there, killed there, back, and there again.
carry() {
  local name=$1 maker=$2 reader=$3 from
  from="$name: $(library_of "$maker") to $(library_of "$reader")"
  key=''
  [[ $name != *encrypted* ]] || key=$disk/key
  rm -rf "$volume"
  tar -C "$disk" -xzf "$disk/made/$name.tar.gz"
  check "$from: it mounts" mount_in "$reader" ro
  check "$from: the tree is the same" shows "$reader" "$disk/made/$name.manifest"
  check "$from: so are its snapshots" snapshots_show "$reader" "$disk/made/$name"
  check "$from: it unmounts" unmount_in "$reader"
  check "$from: it mounts writable" mount_in "$reader" rw
  check "$from: files are written" change_in "$reader" 1
  check "$from: the daemon is killed" kill_in "$reader"
  check "$from, and back: it mounts" mount_in "$maker" rw
  check "$from, and back: the tree is the same" shows "$maker" "$disk/manifest"
  check "$from, and back: files are written" change_in "$maker" 2
  check "$from, and back: it unmounts" unmount_in "$maker"
  check "$from, again: it mounts" mount_in "$reader" ro
  check "$from, again: the tree is the same" shows "$reader" "$disk/manifest"
  check "$from, again: so are its snapshots" snapshots_show "$reader" "$disk/made/$name"
  check "$from, again: it unmounts" unmount_in "$reader"
  check "$from: fsck finds no fault there" check_volume "$reader"
  check "$from: nor here" check_volume "$maker"
}

# A tree of real files, with snapshots of two days, which each system changes.
same() { diff -r --no-dereference "$1" "$2"; }
has_days() { # SYSTEM
  same "$disk/monday" "$(tree "$1")/.snapshots/monday/home" && same "$disk/tuesday" "$(tree "$1")/.snapshots/tuesday/home"
}
fill() { # SYSTEM DAY
  cp -a "$disk/$2/." "$(tree "$1")/home/" && inside "$1" dedupfs-snapshot create "$mnt" "$2"
}
send() { # FROM TO OPTION...: from the volume to its copy
  local from=$1 to=$2
  shift 2
  inside "$from" dedupfs-send "$@" "$volume" | inside "$to" dedupfs-receive "$disk/copy"
}
extract() { # SYSTEM FOLDER OPTION...
  local system=$1 folder=$2
  shift 2
  inside "$system" dedupfs-extract "$@" -o "$disk/$folder" "$volume" && same "$disk/tuesday" "$disk/$folder/home"
}
copy_has_days() {
  local volume=$disk/copy
  mount_in "$1" ro && has_days "$1" && unmount_in "$1"
}
rebuild() { # SYSTEM: fsck says by its status that it mended something
  rm -r "$volume/index" && inside "$1" fsck.dedupfs -y "$volume"
  [ $? -eq 1 ]
}
rebuilt() { mount_in "$1" ro && same "$disk/tuesday" "$(tree "$1")/home" && unmount_in "$1"; }

carry_tree() { # MAKER READER
  local maker=$1 reader=$2 from
  from="a tree: $(library_of "$maker") to $(library_of "$reader")"
  key=''
  rm -rf "$disk"/{volume,copy,extracted,found}
  check "$from: it is made" eval 'inside "$maker" mkfs.dedupfs "$volume" && mount_in "$maker" rw && mkdir "$(tree "$maker")/home"'
  check "$from: monday is written" fill "$maker" monday
  check "$from: it unmounts" unmount_in "$maker"
  check "$from: tuesday is written there" eval 'mount_in "$reader" rw && fill "$reader" tuesday'
  check "$from: both days are there" has_days "$reader"
  check "$from: it unmounts there" unmount_in "$reader"
  check "$from: both days are here" eval 'mount_in "$maker" ro && has_days "$maker" && unmount_in "$maker"'
  check "$from: the files are extracted" extract "$maker" extracted
  check "$from: the copy is made" inside "$reader" mkfs.dedupfs "$disk/copy"
  check "$from: monday is sent" send "$maker" "$reader" --snapshot monday
  check "$from: tuesday is sent back" send "$reader" "$maker" --snapshot tuesday --since monday
  check "$from: the copy has both days" copy_has_days "$reader"
  check "$from: the index is made anew there" rebuild "$reader"
  check "$from: the files are here" rebuilt "$maker"
  check "$from: the similarity index is made anew here" inside "$maker" fsck.dedupfs --rebuild-features "$volume"
  check "$from: the files are there" rebuilt "$reader"
  check "$from: fsck finds no fault there" check_volume "$reader"
}

echo 'a passphrase for everybody' >"$disk/key" # that of tests/golden/volumes/make.sh
chmod 600 "$disk/key"
mkdir "$disk"/{made,monday}
cp -a /usr/include/{linux,c++} "$disk/monday/"
cp -a "$disk/monday" "$disk/tuesday"
python3 - "$disk/tuesday" <<'PYTHON'
import os, random, sys
draw = random.Random(1)
for folder, _, names in sorted(os.walk(sys.argv[1])):
    for path in (os.path.join(folder, name) for name in sorted(names)):
        if draw.random() < 0.05 and not os.path.islink(path):
            with open(path, "ab") as file: file.write(b"changed on tuesday\n")
PYTHON

for direction in "0 1" "1 0"; do
  read -r maker reader <<<"$direction"
  maker=${systems[maker]} reader=${systems[reader]}
  echo "== $(library_of "$maker") of ${maker%%:*} to $(library_of "$reader") of ${reader%%:*}"
  rm -rf "$disk/made"
  mkdir "$disk/made"
  cp "$golden"/{make.sh,manifest.py} "$disk/made"
  check "$(library_of "$maker") writes the golden volumes" inside "$maker" "$disk/made/make.sh" "${maker#*:}"
  names=("$disk"/made/*.tar.gz)
  check_equal "all of them" "$(find "$golden" -name '*.tar.gz' | wc -l)" "${#names[@]}"
  for name in "${names[@]}"; do carry "$(basename "$name" .tar.gz)" "$maker" "$reader"; done
  carry_tree "$maker" "$reader"
done

echo "$passed passed, $failures failed"
exit $((failures > 0))
