# Shared by the scripts of this project; to be sourced, not run.
# shellcheck shell=bash

set -euo pipefail

# shellcheck disable=SC2034  # used by the scripts that source this file
project_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# "debian-12", "ubuntu-24.04".
distribution=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown}-${VERSION_ID:-}") || distribution=unknown

# The clang that is used for sanitizers, fuzzers and clang-tidy: the one that the distribution calls clang, without a number. Empty where
# neither this list nor apt knows it. The oldest that builds dedupfs is 14, but it does not understand the headers of GCC 13.
clang_of_distribution() {
  case $distribution in
    debian-12) echo 14 ;;
    debian-13) echo 19 ;;
    ubuntu-24.04) echo 18 ;;
    *) apt-cache depends clang 2>/dev/null | sed -nE 's/^ *Depends: clang-([0-9]+)$/\1/p' ;;
  esac
}
# shellcheck disable=SC2034  # used by the scripts that source this file
llvm=$(clang_of_distribution) || llvm=

say() { printf '== %s\n' "$*"; }

die() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Prints the comment block at the top of the running script, without its #! line.
usage() { sed -En '2,/^($|[^#])/s/^# ?//p' "$0"; }

# run_as_root COMMAND...: through sudo where needed.
run_as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "root is needed for: $*  (install sudo, or run that command as root first)"
  fi
}

# Our C++ files.
cpp_files() {
  (cd "$project_root" && find src tools tests bench \( -name '*.cc' -o -name '*.h' \) -print | sort)
}

# Of a new build folder: many sources are compiled at once, which takes a fifth of the time. Who changes sources all day is better off
# with `meson configure build -Dunity=off`.
# shellcheck disable=SC2034  # for the scripts that source this
readonly quick_build=(-Dunity=on -Dunity_size=32)

# configure DIRECTORY [MESON OPTION...]: sets a build directory up, or brings an existing one to these options.
configure() {
  local directory=$1
  shift
  if [ -f "$directory/build.ninja" ]; then
    [ $# -eq 0 ] || meson configure "$directory" "$@"
  else
    meson setup "$directory" "$project_root" "$@"
  fi
}
