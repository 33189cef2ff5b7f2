#!/usr/bin/env bash
# The portable archive: it has what it needs but glibc, and works in a system that has nothing else.
# Prints PASS or FAIL and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/tarball_test.sh ARCHIVE [ROOT]     what scripts/package --tarball made; as root
# ROOT is a system to try it in, such as debootstrap makes; it is changed. Without it the test makes one of glibc alone, so whatever else
# the programs load must come from the archive. It needs /dev/fuse and unshare, and no network.
set -uo pipefail

archive=$(realpath "${1:?what scripts/package --tarball made}")
given_root=${2:-}
give_up() { echo "FAIL environment: $1"; exit 1; }
[ "$(id -u)" -eq 0 ] || give_up "not root"
[ -c /dev/fuse ] || give_up "/dev/fuse is missing"
# All mounts below are in a mount namespace of this test, and go with it.
if [ -z "${IN_OWN_NAMESPACE:-}" ]; then IN_OWN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"; fi

scratch=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-tarball.XXXXXX")")
root=${given_root:-$scratch/root}
passed=0 failures=0
clean_up() {
  for mountpoint in "$root/home/nobody/mnt" "$root/mnt/backup"; do umount -l "$mountpoint" 2>/dev/null; done
  umount -l "$root/proc" "$root/dev" 2>/dev/null
  rm -rf "$scratch"
}
trap clean_up EXIT
check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$scratch/said" 2>&1; then
    echo "PASS $name"
    passed=$((passed + 1))
  else
    echo "FAIL $name"
    failures=$((failures + 1))
    head -n 20 "$scratch/said"
  fi
}

# What glibc is made of on this machine, and the mount helper of libfuse, which needs nothing else and runs as root for users.
make_root() {
  local file
  mkdir -p "$root"/{etc,tmp,usr/bin,usr/local,srv}
  for file in $(dpkg --listfiles libc6 | grep -E '/(lib[^/]*|ld-linux[^/]*)\.so[^/]*$'); do
    mkdir -p "$root$(dirname "$file")"
    cp -P "$file" "$root$file"
  done
  [ -e "$root/lib64" ] || { mkdir -p "$root/lib64" && cp -L /lib64/ld-linux-* "$root/lib64/"; }
  cp -p /usr/bin/fusermount3 "$root/usr/bin/"
  printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/home/nobody:/bin/sh\n' >"$root/etc/passwd"
}
mount_kernel() {
  mkdir -p "$root"/{proc,dev,mnt/backup}
  # As every system has it that was booted once. fusermount3 reads it.
  [ -L "$root/etc/mtab" ] || ln -s ../proc/self/mounts "$root/etc/mtab"
  mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 tmpfs "$root/dev" &&
    mknod -m 666 "$root/dev/fuse" c 10 229 && mknod -m 666 "$root/dev/null" c 1 3 && mknod -m 666 "$root/dev/urandom" c 1 9
}
chroot=$(command -v chroot)
inside() { env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root "$chroot" "$root" "$@"; }
as_user() { env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/nobody "$chroot" --userspec=65534:65534 "$root" "$@"; }
unpack() { tar -C "$root/usr/local" --strip-components=1 --no-same-owner -xJf "$archive"; }

every_program_runs() {
  local program
  for program in "$root"/usr/local/bin/*; do
    inside "/usr/local/bin/${program##*/}" --version || return 1
  done
}
# The loader names each library that it takes.
only_glibc_is_of_the_system() {
  local program loaded loader
  loader=$(readelf --program-headers "$root/usr/local/bin/dedupfs" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
  for program in "$root"/usr/local/bin/*; do
    loaded=$(inside "$loader" --list "/usr/local/bin/${program##*/}") || return 1
    grep -q '/bin/../lib/dedupfs/' <<<"$loaded" || { echo "$loader lists nothing of ours"; return 1; }
    ! grep 'not found' <<<"$loaded" || return 1
    ! grep -vE '/bin/\.\./lib/dedupfs/|linux-vdso|(^|/)(ld-linux[^/]*|lib(c|m|pthread|dl|rt|resolv|util|anl|mvec))\.so' <<<"$loaded" || return 1
  done
}
every_library_has_its_licence() {
  local soname package rest notes=$root/usr/local/share/doc/dedupfs/libraries
  while IFS=$'\t' read -r soname package rest; do
    if [ ! -s "$notes/$package.copyright" ] || [ ! -f "$root/usr/local/lib/dedupfs/$soname" ]; then
      echo "$soname $package $rest"
      return 1
    fi
  done <"$notes/list.tsv"
  [ "$(wc -l <"$notes/list.tsv")" -eq "$(find "$root/usr/local/lib/dedupfs" -type f | wc -l)" ]
}
the_rest_is_there() {
  local path
  for path in share/man/man8/dedupfs.8 share/bash-completion/completions/dedupfs lib/systemd/system/dedupfs@.service \
    share/doc/dedupfs/README.md share/doc/dedupfs/LICENSE share/doc/dedupfs/libraries/common-licenses/GPL-2 share/dedupfs/schemas; do
    compgen -G "$root/usr/local/$path*" >/dev/null || { echo "$path"; return 1; }
  done
  grep -qF 'ExecStart=/usr/local/bin/dedupfs ' "$root/usr/local/lib/systemd/system/dedupfs@.service" &&
    [ "$(readlink -f "$root/usr/local/sbin/mount.dedupfs")" = "$root/usr/local/bin/dedupfs" ]
}
nothing_leaves_the_tree() { # no file of another owner or with rights of its own, no link to outside
  local listed
  listed=$(tar -tvJf "$archive") || return 1
  ! grep -vE '^(l|[-d]rw[-x]r-[-x]r-[-x])' <<<"$listed" || return 1
  ! grep -E ' -> /' <<<"$listed" || return 1
  ! awk '{print $2}' <<<"$listed" | grep -v '^0/0$'
}
the_note_says_which_glibc() {
  local said newest
  said=$(sed -n 's/.*glibc \([0-9.]*\) or newer.*/\1/p' "$root/usr/local/share/doc/dedupfs/TARBALL.md")
  newest=$(readelf --wide --version-info "$root"/usr/local/{bin,lib/dedupfs}/* 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
  [ "GLIBC_$said" = "$newest" ] || { echo "$said, but $newest"; return 1; }
}

# copy_and_compare AS VOLUME MOUNTPOINT: makes a volume, mounts it, copies, mounts it again, compares.
copy_and_compare() {
  local as=$1 volume=$2 mountpoint=$3
  "$as" mkfs.dedupfs "$volume" && "$as" dedupfs "$volume" "$mountpoint" || return 1
  "$as" dedupfs-snapshot create "$mountpoint" empty || return 1
  # Through the daemon's own user, who alone may use a mount of a user.
  copy_as "$as" "$scratch/data" "$root$mountpoint/data" || return 1
  "$as" dedupfs-stat "$mountpoint" && "$as" umount.dedupfs "$mountpoint" || return 1
  [ -z "$(ls -A "$root$mountpoint")" ] || { echo "still mounted"; return 1; }
  "$as" dedupfs "$volume" "$mountpoint" || return 1
  rm -f "$scratch/back/data"
  copy_as "$as" "$root$mountpoint/data" "$scratch/back/data" && cmp "$scratch/data" "$scratch/back/data" || return 1
  "$as" umount.dedupfs "$mountpoint" && "$as" fsck.dedupfs "$volume" || return 1
  "$as" dedupfs-extract "$volume" data -o "${volume%/*}/extracted" && cmp "$scratch/data" "$root${volume%/*}/extracted/data"
}
copy_as() { # AS FROM TO
  if [ "$1" = as_user ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups cp "$2" "$3"
  else
    cp "$2" "$3"
  fi
}

[ -n "$given_root" ] || check "a root with glibc alone" make_root
check "the kernel's filesystems" mount_kernel
check "everything in the archive belongs to root, and stays in its folder" nothing_leaves_the_tree
check "it unpacks below /usr/local" unpack
check "every program runs" every_program_runs
check "glibc alone is the system's" only_glibc_is_of_the_system
check "every library has its licence" every_library_has_its_licence
check "manuals, completions, units and documents are there" the_rest_is_there
check "the note says which glibc it needs" the_note_says_which_glibc

mkdir -m 777 "$scratch/back"
head -c 3000000 /dev/urandom >"$scratch/data"
chmod 755 "$scratch"
chmod 644 "$scratch/data"
check "root mounts, copies, unmounts, and reads it back" copy_and_compare inside /srv/volume /mnt/backup
install -d -o 65534 -g 65534 "$root/home/nobody" "$root/home/nobody/mnt"
check "and so does a user" copy_and_compare as_user /home/nobody/volume /home/nobody/mnt
echo "$passed passed, $failures failed"
[ "$failures" -eq 0 ]
