#!/usr/bin/env bash
# A package for another architecture, in an emulator (qemu-user): its programs run, and a volume that they mount is one that they read again.
# Prints PASS or FAIL and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/cross_test.sh FOLDER ARCH     what `scripts/package --arch ARCH FOLDER` made, where it was made; as root
# It needs the libraries of that architecture (scripts/setup --package-arch ARCH), and /dev/fuse.
set -uo pipefail

here=$(realpath "$(dirname "$0")")
packages=$(realpath "${1:?the folder that scripts/package made}")
arch=${2:?the architecture, as dpkg names it}
deb=$(find "$packages" -maxdepth 1 -name "dedupfs_*_$arch.deb")
give_up() { echo "FAIL environment: $1"; echo "0 passed, 1 failed"; exit 1; }
[ -f "$deb" ] || give_up "$packages has not one dedupfs_*_$arch.deb"
[ "$(id -u)" -eq 0 ] || give_up "not root"
[ -c /dev/fuse ] || give_up "/dev/fuse is missing"
emulator=$(command -v "qemu-$(dpkg-architecture --host-arch "$arch" --query DEB_HOST_GNU_CPU 2>/dev/null)") || give_up "no qemu-user for $arch"

# shellcheck source=../integration/checks.sh
. "$here/../integration/checks.sh"
passed=0
pass() { echo "PASS $1"; passed=$((passed + 1)); }
scratch=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-cross.XXXXXX")")
root=$scratch/root
mnt=$scratch/mnt
is_mounted() { grep -q " $mnt fuse" /proc/mounts; }
clean_up() {
  ! is_mounted || umount -l "$mnt"
  rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
mkdir "$root" "$mnt"
dpkg-deb --extract "$deb" "$root"

run() { # PROGRAM ARGUMENT...: of the package
  local program=$1
  shift
  "$emulator" "$root/usr/bin/$program" "$@"
}
machine_of() { readelf --file-header "$1" | sed -n 's/^ *Machine: *//p'; }
libc=$(dpkg-architecture --host-arch "$arch" --query DEB_HOST_MULTIARCH 2>/dev/null)
libc=$(find "/lib/$libc" "/usr/lib/$libc" -name 'libc.so.6' -print -quit)
names_itself() { [[ $(run "$1" --version) == "$1 "* ]]; } # PROGRAM
for file in "$root"/usr/bin/*; do
  program=${file##*/}
  check_equal "$program is for $arch" "$(machine_of "$libc")" "$(machine_of "$file")"
  check "$program has completions" test -s "$root/usr/share/bash-completion/completions/$program" -a -s "$root/usr/share/zsh/site-functions/_$program" \
    -a -s "$root/usr/share/fish/vendor_completions.d/$program.fish"
  check "$program runs" names_itself "$program"
done

check "a volume is made" run mkfs.dedupfs "$scratch/volume"
"$emulator" "$root/usr/bin/dedupfs" --foreground "$scratch/volume" "$mnt" &
daemon=$!
check "and mounted" wait_until 60 is_mounted
check "files are copied" cp -a "$here" "$mnt/files"
check "and once more" cp -a "$here" "$mnt/more"
kill "$daemon"
wait "$daemon"
check "fsck finds nothing wrong" run fsck.dedupfs -n --verify-data "$scratch/volume"
check "they are taken out without a mount" run dedupfs-extract "$scratch/volume" more -o "$scratch/out"
check "byte by byte" diff -r "$here" "$scratch/out/more"

echo "$passed passed, $failures failed"
[ "$failures" -eq 0 ]
