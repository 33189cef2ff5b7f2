#!/usr/bin/env bash
# A mount as the upper layer of overlayfs, as containers use it. (Of an upper layer on FUSE the kernel demands RENAME_WHITEOUT,
# types in listings and extended attributes; without one of them it refuses to mount the overlay.) What an overlay shows is compared with one whose upper layer is
# on tmpfs. Root only.
. "$(dirname "$0")/lib.sh"

is_root || { skip "overlay" "needs root"; exit 0; }
grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || { skip "overlay" "the kernel has none"; exit 0; }

new_volume
reference=$scratch/reference
merged=$scratch/merged
mkdir -p "$scratch/lower/tree/deep" "$reference" "$merged"
mount -t tmpfs tmpfs "$reference"
for name in removed renamed replaced changed linked; do echo "$name below" >"$scratch/lower/$name"; done
for name in suid sgid; do cp /bin/true "$scratch/lower/$name"; done
chmod 4755 "$scratch/lower/suid"
chmod 2755 "$scratch/lower/sgid"
for name in a b; do echo "$name" >"$scratch/lower/tree/$name" && echo "$name" >"$scratch/lower/tree/deep/$name"; done

# on_overlay FOLDER COMMAND...: with an overlay at $merged whose upper layer is in FOLDER.
on_overlay() {
  local folder=$1 status=0
  shift
  mkdir -p "$folder/upper" "$folder/work"
  mount -t overlay overlay "$merged" -o "lowerdir=$scratch/lower,upperdir=$folder/upper,workdir=$folder/work" || return 1
  "$@" || status=$?
  umount "$merged"
  return "$status"
}

change_everything() (
  set -e
  cd "$merged"
  rm removed
  mv renamed elsewhere
  echo above >over
  mv over replaced
  echo more >>changed
  ln linked link
  touch suid sgid # a copy up, which keeps set-id bits
  rm -r tree/deep
  mkdir tree/deep
  echo new >tree/deep/new
  mv tree/a tree/c
  mkdir fresh
  mv fresh tree/fresh
  cp -a tree tree2
  rm -r tree
)
# Names, kinds and contents.
show() { (cd "$merged" && find . -printf '%P %y %n %m\n' | sort && find . -type f | sort | xargs md5sum); }

check "an overlay has its upper layer on the mount" on_overlay "$mnt/overlay" change_everything
check "and one on tmpfs does the same" on_overlay "$reference/overlay" change_everything
check "what is removed is a whiteout" test -c "$mnt/overlay/upper/removed"
check "so is what was renamed" test -c "$mnt/overlay/upper/renamed"
on_overlay "$reference/overlay" show >"$scratch/expected" 2>&1
on_overlay "$mnt/overlay" show >"$scratch/shown" 2>&1
check_equal "both show the same" "" "$(diff "$scratch/expected" "$scratch/shown")"
remount
on_overlay "$mnt/overlay" show >"$scratch/shown" 2>&1
check_equal "also after a remount" "" "$(diff "$scratch/expected" "$scratch/shown")"
umount "$reference"
check "the volume is sound" eval 'unmount_volume && fsck.dedupfs -n "$volume"'
finish
