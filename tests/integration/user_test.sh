#!/usr/bin/env bash
# An ordinary user makes, mounts, uses and unmounts a volume, through fusermount3. Root lends this test to nobody.
. "$(dirname "$0")/lib.sh"

user=(env)
if is_root; then
  lend_to_nobody
  if ! "${user[@]}" test -w /dev/fuse; then # as it is where no udev has seen to it
    mode=$(stat -c %a /dev/fuse)
    chmod 666 /dev/fuse
    trap 'clean_up; chmod "$mode" /dev/fuse' EXIT
  fi
  mkdir "$scratch/home"
  chown 65534:65534 "$scratch/home"
  volume=$scratch/home/volume mnt=$scratch/home/mnt
fi
seq 300000 >"$scratch/expected"

check "mkfs.dedupfs" "${user[@]}" mkfs.dedupfs "$volume"
"${user[@]}" mkdir -p "$mnt"
check "mount" "${user[@]}" dedupfs "$volume" "$mnt"
check "it is mounted when the command returns" is_mounted "$mnt"
check_equal "its memory is closed to the user's other programs" 0 "$(stat -c %u "/proc/$(daemon_pid)/environ")"
check "write" "${user[@]}" sh -c "seq 300000 >'$mnt/file' && mkdir '$mnt/folder' && ln -s file '$mnt/link'"
check_equal "files belong to the user" "$("${user[@]}" id -u):$("${user[@]}" id -g)" "$("${user[@]}" stat -c %u:%g "$mnt/file")"
check "read" "${user[@]}" cmp "$mnt/link" "$scratch/expected"
check "extended attributes" "${user[@]}" setfattr -n user.name -v value "$mnt/file"
check "dedupfs-stat" "${user[@]}" dedupfs-stat "$mnt"
check_refused "chown to another is refused" 1 'not permitted' "${user[@]}" chown 1 "$mnt/file"
if is_root; then
  check_refused "others, root among them, are kept out" 2 'denied' ls "$mnt"
fi
check_refused "a second mount of the volume is refused" 32 'in use|mounted' "${user[@]}" dedupfs "$volume" "$("${user[@]}" mktemp -d -p "$(dirname "$mnt")")"
check "unmount" "${user[@]}" umount.dedupfs "$mnt"
check "the daemon has ended" no_daemon
check "mount again" "${user[@]}" dedupfs "$volume" "$mnt"
check "the data is there" "${user[@]}" cmp "$mnt/file" "$scratch/expected"
check "fusermount3 -u" "${user[@]}" fusermount3 -u "$mnt"
check "the daemon ends by itself" wait_until 20 no_daemon
check "fsck.dedupfs -n" "${user[@]}" fsck.dedupfs -n --verify-data "$volume"

# What may not be read.
for part in . containers index; do
  "${user[@]}" chmod 000 "$volume/$part"
  check_refused "mount: no permission for $part of the volume" 32 'denied' "${user[@]}" dedupfs "$volume" "$mnt"
  check_refused "fsck.dedupfs -n: no permission for $part of the volume" 8 'denied' "${user[@]}" fsck.dedupfs -n "$volume"
  check_refused "fsck.dedupfs -y: no permission for $part of the volume" 8 'denied' "${user[@]}" fsck.dedupfs -y "$volume"
  chmod 700 "$volume/$part"
done
check "with permission again all is there" "${user[@]}" fsck.dedupfs -n --verify-data "$volume"
finish
