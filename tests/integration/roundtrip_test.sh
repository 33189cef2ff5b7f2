#!/usr/bin/env bash
# Two generations of a tree, copied by cp, rsync, tar and dd, come back as they went in, also after a remount.
. "$(dirname "$0")/lib.sh"

# A tree with one of everything that a copy must keep. $1: folder, made here.
make_tree() {
  local i
  mkdir -p "$1/code/deep/er" "$1/data" "$1/odd names"
  for i in $(seq 150); do
    { echo "// file $i"; seq "$i" $((i * 40)); } >"$1/code/file$i.cc"
  done
  noise 1 6000000 >"$1/data/noise"
  seq 400000 >"$1/data/text"
  : >"$1/data/empty"
  truncate -s 20M "$1/data/sparse"
  echo end >>"$1/data/sparse"
  printf 'x' | dd of="$1/data/sparse" bs=1 seek=5000000 conv=notrunc status=none
  echo newline >"$1/odd names/a
b"
  printf 'bytes' >"$1/odd names/$(printf '\377\001 "*')"
  ln "$1/data/text" "$1/code/deep/hard link"
  ln -s ../data/noise "$1/code/soft link"
  ln -s /nowhere "$1/code/dangling"
  mkfifo "$1/data/fifo"
  chmod 4751 "$1/code/file1.cc"
  chmod 1777 "$1/odd names"
  touch -d '1999-12-31 23:59:59.123456789' "$1/code/file2.cc"
  if is_root; then
    mknod "$1/data/device" c 1 3
    chown 1000:2000 "$1/code/file3.cc"
    chown -h 3:4 "$1/code/soft link"
  fi
  # A filesystem for temporary files need not know these; the volume must, and gets them in the next step then.
  setfattr -n user.comment -v 'kept' "$1/code/file4.cc" 2>/dev/null
  setfacl -m u:1234:rw,d:g:1234:r "$1/code/deep" 2>/dev/null
  touch -d '2001-02-03 04:05:06.7' "$1/code/deep" "$1/code" "$1/data"
}

# The next generation: a few files changed in the middle, one new, one gone, one renamed.
change_tree() {
  printf 'inserted' | cat - "$1/data/noise" >"$1/data/noise2" && mv "$1/data/noise2" "$1/data/noise"
  sed -i '200s/.*/changed/' "$1/data/text"
  echo more >>"$1/code/file5.cc"
  echo new >"$1/code/new"
  rm "$1/code/file6.cc"
  mv "$1/code/file7.cc" "$1/code/renamed"
}

copy_with() { # copy_with TOOL FROM TO
  case $1 in
    cp) cp -a "$2" "$3" ;;
    rsync) rsync -aHAX --modify-window=-1 "$2/" "$3" ;; # else it takes times within one second for equal
    tar) mkdir "$3" && tar -C "$2" --xattrs --xattrs-include='*' --acls -cf - . | tar -C "$3" --xattrs --xattrs-include='*' --acls -xpf - ;;
  esac
}

new_volume
make_tree "$scratch/tree"
for tool in cp rsync tar; do
  check "$tool copies the first generation" copy_with "$tool" "$scratch/tree" "$mnt/$tool.1"
done
commit
first=$(stat_of stored_bytes)
change_tree "$scratch/tree"
for tool in cp rsync tar; do
  check "$tool copies the second generation" copy_with "$tool" "$scratch/tree" "$mnt/$tool.2"
done
commit
second=$(stat_of stored_bytes)
check "the second generation costs less than a tenth ($first then $second bytes)" test $((second - first)) -lt $((first / 10))

for tool in cp rsync tar; do same_tree "$tool gives back what it copied" "$scratch/tree" "$mnt/$tool.2"; done
check "cp inside the mount" cp -a "$mnt/cp.1" "$mnt/inside"
same_tree "cp inside the mount is equal" "$mnt/cp.1" "$mnt/inside"

for block in 512 4k 130k 1M; do
  check "dd bs=$block writes" dd if="$scratch/tree/data/noise" of="$mnt/dd.$block" bs="$block" status=none
  check "dd bs=$block reads the same" cmp "$scratch/tree/data/noise" "$mnt/dd.$block"
done
check "dd into the middle" eval 'cp "$scratch/tree/data/noise" "$scratch/patched"
  for file in "$scratch/patched" "$mnt/dd.4k"; do
    dd if="$scratch/tree/data/text" of="$file" bs=1000 seek=1234 count=700 conv=notrunc status=none; done
  cmp "$scratch/patched" "$mnt/dd.4k"'

python3 "$here/manifest.py" "$mnt" >"$scratch/before"
check "remount" remount "$(is_root && echo allow_other)"
python3 "$here/manifest.py" "$mnt" >"$scratch/after"
check "everything is the same after a remount" diff "$scratch/before" "$scratch/after"
same_tree "the source is the same after a remount" "$scratch/tree" "$mnt/cp.2"
rm -rf "$mnt"/*.1 "$mnt/inside"
same_tree "deleting one generation leaves the other" "$scratch/tree" "$mnt/tar.2"
check "the volume is sound" eval 'unmount_volume && fsck.dedupfs -n --verify-data "$volume"'
finish
