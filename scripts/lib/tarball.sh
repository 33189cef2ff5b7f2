# The portable archive of scripts/package --tarball; to be sourced, not run. scripts/lib/common.sh comes before.
# shellcheck shell=bash disable=SC2154  # project_root and distribution are common.sh's

# Where the programs look for their libraries first, from the folder that they are in.
private_libraries=../lib/dedupfs

# owner_of FILE: the package of Debian that has it. Merged folders are known by one of their names.
owner_of() {
  local real path found
  real=$(realpath "$1")
  for path in "$1" "$real" "/usr$1" "${1#/usr}" "/usr$real" "${real#/usr}"; do
    found=$(dpkg-query --search "$path" 2>/dev/null) || continue
    found=${found%%: *}
    echo "${found%%:*}"
    return
  done
  die "no package has $1: its licence is not known"
}

# libraries_of FOLDER: "SONAME FILE" for each library that the programs in it load, glibc's too, without the kernel's.
libraries_of() {
  find "$1" -maxdepth 1 -type f -exec ldd {} + | sed -nE 's#^\s+(\S+) => (/\S+) \(.*#\1 \2#p' | sort -u
}

# take_libraries TREE: all but those of glibc, with the licence of each, and a list. glibc stays that of the system: it loads plugins
# (NSS) of its own version, and so does the loader.
take_libraries() {
  local tree=$1 soname file package notes=$1/share/doc/dedupfs/libraries licence
  mkdir -p "$tree/lib/dedupfs" "$notes/common-licenses"
  while read -r soname file; do
    package=$(owner_of "$file")
    [ "$package" != libc6 ] || continue
    install -m 644 "$(realpath "$file")" "$tree/lib/dedupfs/$soname"
    [ -e "$notes/$package.copyright" ] || cp -L "/usr/share/doc/$package/copyright" "$notes/$package.copyright"
    # shellcheck disable=SC2016  # dpkg-query's variables
    dpkg-query --show --showformat "$soname\t"'${Package}\t${Version}\t${source:Package}\t${source:Version}\n' "$package" | head -n 1
  done < <(libraries_of "$tree/bin") >"$notes/list.tsv"
  [ -s "$notes/list.tsv" ] || die "the programs load no library: is ldd there?"
  # The licences that Debian's files refer to. Other systems do not have them there.
  while read -r licence; do
    [ ! -e "$licence" ] || cp -L "$licence" "$notes/common-licenses/"
  done < <(grep -hoE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$notes"/*.copyright | sort -u)
}

# least_glibc TREE: the version of glibc that the newest function needs which programs and libraries call.
least_glibc() {
  local versions
  versions=$(find "$1/bin" "$1/lib/dedupfs" -type f -exec readelf --wide --version-info {} + | grep -oE 'Name: GLIBC_[A-Z0-9.]+' |
    cut -d_ -f2 | sort -uV)
  ! grep -q PRIVATE <<<"$versions" || die "a library calls what is private to one version of glibc"
  tail -n 1 <<<"$versions"
}

# write_notes TREE NAME GLIBC
write_notes() {
  cat >"$1/share/doc/dedupfs/TARBALL.md" <<EOF
# $2

The programs of dedupfs with the libraries that they need, for systems that have no package of it. It needs

- Linux on $(uname -m) with glibc $3 or newer: Debian 12, Ubuntu 24.04 and what came after them;
- FUSE in the kernel, and for users other than root the program \`fusermount3\`, which most systems have in a package \`fuse3\`.

Unpack it below /usr/local:

    tar -C /usr/local --strip-components=1 --no-same-owner -xJf $2.tar.xz
    ln -s /usr/local/sbin/*.dedupfs /usr/sbin/      # mount -t dedupfs, umount, mkfs -t and fsck find dedupfs there

Or below /opt. Then the programs are in /opt/$2/bin, and the units in lib/systemd/system name another path:

    tar -C /opt --no-same-owner -xJf $2.tar.xz
    sed -i 's#/usr/local/bin#/opt/$2/bin#' /opt/$2/lib/systemd/system/*.service

The programs find their libraries in ../lib/dedupfs, from their own folder on. So keep bin and lib together. Other programs do not use
these libraries.

**These libraries get no updates from your distribution.** Among them are those that read what other machines send (libcurl, OpenSSL and
GnuTLS). Take a newer archive when there is one, and a package of your distribution where you can. libraries/list.tsv says which
versions these are: the name of the library, the package of $distribution, its version, and the source package and its version, which
the archive of that distribution has. Their licences are beside that list.

To connect to an object store by TLS, libcurl reads /etc/ssl/certs/ca-certificates.crt. Where a system has its certificates in
another place, set CURL_CA_BUNDLE or SSL_CERT_FILE.
EOF
}

# install_tree BUILD TREE: what meson installs below /usr/local, with links for mount(8) and others that do not leave the tree.
install_tree() {
  local build=$1 tree=$2 staged=$2.staged link
  DESTDIR=$staged meson install -C "$build" --no-rebuild --strip --quiet
  [ -x "$staged/usr/local/bin/dedupfs" ] || die "$build does not install below /usr/local: its prefix must be that"
  mv "$staged/usr/local" "$tree"
  rm -rf "$staged" "${tree:?}/sbin"
  readelf --dynamic "$tree/bin/dedupfs" | grep -qF "Library rpath: [\$ORIGIN/$private_libraries]" ||
    die "the programs in $build do not look for libraries beside them: meson configure -Dprivate_libraries=$private_libraries $build"
  mkdir "$tree/sbin"
  for link in mount.dedupfs mount.fuse.dedupfs; do ln -s ../bin/dedupfs "$tree/sbin/$link"; done
  for link in umount.dedupfs umount.fuse.dedupfs; do ln -s ../bin/umount.dedupfs "$tree/sbin/$link"; done
  for link in mkfs.dedupfs fsck.dedupfs; do ln -s "../bin/$link" "$tree/sbin/$link"; done
}

# pack TREE FILE EPOCH: the same tree gives the same bytes: xz cuts into other blocks with another number of threads.
pack() {
  tar --sort=name --format=gnu --mtime="@$3" --owner=0 --group=0 --numeric-owner --mode='u+rwX,go+rX,go-w' \
    -C "$(dirname "$1")" -c "$(basename "$1")" | xz --threads=1 -6 >"$2"
}

# make_tarball FOLDER BUILD: sets tarball_made to the archive. BUILD empty: builds the commit that is checked out.
make_tarball() {
  local folder=$1 build=$2 work version name tree glibc epoch
  work=$(mktemp -d "$folder/tarball.XXXXXX")
  # shellcheck disable=SC2064  # the folder as it is now
  trap "rm -rf '$work'" EXIT
  umask 022
  version=$(sed -nE "s/^ *version: '([^']+)'.*/\1/p" "$project_root/meson.build" | head -n 1)
  name=dedupfs-$version-linux-$(uname -m)
  tree=$work/$name
  epoch=${SOURCE_DATE_EPOCH:-$(git -C "$project_root" log -1 --format=%ct)}
  if [ -z "$build" ]; then
    mkdir "$work/source"
    git -C "$project_root" archive HEAD | tar -x -C "$work/source"
    copy_xdelta3 "$work/source/subprojects/xdelta3"
    build=$work/source/build
    meson setup "$build" "$work/source" --prefix=/usr/local --buildtype=release -Dtests=false "${quick_build[@]}" -Dprivate_libraries="$private_libraries"
    meson compile -C "$build"
  fi
  install_tree "$build" "$tree"
  SOURCE_DATE_EPOCH=$epoch "$project_root/scripts/sbom" "$tree/bin" -o "$folder/$name.spdx.json"
  mkdir -p "$tree/share/doc/dedupfs"
  git -C "$project_root" archive HEAD README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE docs contrib |
    tar -x -C "$tree/share/doc/dedupfs"
  take_libraries "$tree"
  glibc=$(least_glibc "$tree")
  write_notes "$tree" "$name" "$glibc"
  pack "$tree" "$folder/$name.tar.xz" "$epoch"
  rm -rf "$work"
  tarball_made=$folder/$name.tar.xz
  say "$tarball_made needs glibc $glibc"
}
