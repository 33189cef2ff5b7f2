#!/usr/bin/env bash
# The RPM spec: a package comes of it, with the files that the Debian package has. It is built on Debian, against Debian's libraries and with
# Fedora's macros by hand (fedora.macros): so the spec is tested, and not the names of Fedora's packages.
# Prints PASS or FAIL and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/rpm_test.sh FOLDER     what scripts/package made. MESON_OPTIONS as scripts/package has it
set -uo pipefail

packages=$(realpath "${1:?the folder that scripts/package made}")
here=$(realpath "$(dirname "$0")")
deb=$(find "$packages" -maxdepth 1 -name 'dedupfs_*.deb')
source=$(find "$packages" -maxdepth 1 -name 'dedupfs_*.tar.xz')
[ -f "$deb" ] && [ -f "$source" ] || { echo "FAIL environment: $packages has not one dedupfs_*.deb and one dedupfs_*.tar.xz"; exit 1; }
for program in rpmbuild rpm2archive meson; do
  command -v "$program" >/dev/null || { echo "FAIL environment: $program is missing: run scripts/setup --package"; exit 1; }
done

# shellcheck source=../integration/checks.sh
. "$here/../integration/checks.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
pass() {
  echo "PASS $1"
  passed=$((passed + 1))
}

build() {
  mkdir -p "$scratch/SOURCES"
  cp "$source" "$scratch/SOURCES/"
  rpmbuild -bb --nodeps --load="$here/fedora.macros" --define "_topdir $scratch" --define "meson_options ${MESON_OPTIONS:-}" \
    "$here/../../packaging/dedupfs.spec" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; return 1; }
}
# One name a line, without folders, and without what the two systems name in ways of their own: licences, and .gz of manuals.
names_in() { find "$1" ! -type d -printf '%P\n' | grep -vE '/doc/|/licenses/|/lintian/|/\.build-id/|^usr/lib/debug/' | sed 's/\.gz$//' | sort; }

check "rpmbuild makes a package" build
rpm=$(find "$scratch/RPMS" -name 'dedupfs-[0-9]*.rpm' 2>/dev/null)
if [ -f "$rpm" ]; then
  mkdir "$scratch/of-rpm" "$scratch/of-deb"
  rpm2archive - <"$rpm" | tar -xz -C "$scratch/of-rpm"
  dpkg-deb --extract "$deb" "$scratch/of-deb"
  rm -rf "$scratch/of-deb/usr/libexec" # of Debian's own scripts
  check_equal "it has the files that the Debian package has" "$(names_in "$scratch/of-deb")" "$(names_in "$scratch/of-rpm")"
  check "its program runs" "$scratch/of-rpm/usr/bin/dedupfs-stat" --version
  check "it needs FUSE, and no library by a path" eval 'rpm -qp --requires "$rpm" >"$scratch/requires" && grep -qx fuse3 "$scratch/requires" && ! grep -q "^/.*\.so" "$scratch/requires"'
  check_equal "and no program of it runs when it is installed" "" "$(rpm -qp --scripts "$rpm")"
fi

echo "$passed passed, $failures failed"
[ "$failures" -eq 0 ]
