# What the scripts of this folder share: a temporary folder, which goes at the end, and packages in it.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C TZ=UTC

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

cannot() {
  echo "cannot be tried here: $*" >&2
  exit 77
}

# unpack PACKAGE=VERSION...: of Debian. Nothing is installed.
unpack() {
  local package
  mkdir "$work/packages"
  for package; do
    (cd "$work/packages" && apt-get -qq download "$package") 2>"$work/said" || cannot "no package $package: $(tail -n 1 "$work/said")"
  done
  for package in "$work"/packages/*.deb; do dpkg-deb --extract "$package" "$root"; done
  LD_LIBRARY_PATH=$(find "$root" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd :)
  export LD_LIBRARY_PATH
}

# expect WHAT SEEN_THEN SEEN_NOW
expect() {
  if [ "$2" = "$3" ]; then
    printf 'still so: %s: %s\n' "$1" "$3"
  else
    printf 'CHANGED: %s\n  then: %s\n  now:  %s\n' "$1" "$2" "$3" >&2
    exit 1
  fi
}

# with_pycurl VERSION: what $work/program.py prints with that version of pycurl, which comes with a libcurl of its own.
with_pycurl() {
  python3 -m venv "$work/$1" >"$work/said" 2>&1 || cannot "no venv: $(tail -n 1 "$work/said")"
  "$work/$1/bin/pip" -q install --only-binary :all: "pycurl==$1" 2>"$work/said" || cannot "no pycurl $1: $(tail -n 1 "$work/said")"
  "$work/$1/bin/python" "$work/program.py"
}
