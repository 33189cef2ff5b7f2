#!/usr/bin/env bash
# Where scripts/setup takes xdelta3 from, on a machine that has every package. apt and dpkg are stand-ins.
# Prints PASS or FAIL and a name a line.
set -uo pipefail

here=$(realpath "$(dirname "$0")")
project=$here/../..
scratch=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-setup.XXXXXX")")
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=../integration/checks.sh
. "$here/../integration/checks.sh"

mkdir -p "$scratch"/{tree/subprojects,bin}
cp -r "$project/scripts" "$scratch/tree"
cp -r "$project/subprojects/packagefiles" "$scratch/tree/subprojects"
copy=$scratch/tree/subprojects/xdelta3
calls=$scratch/calls
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$scratch/bin/$1" && chmod 755 "$scratch/bin/$1"; }
stand_in dpkg-query 'echo installed'
stand_in sudo 'exec "$@"'
stand_in apt-cache "echo \"apt-cache \$*\" >>'$calls'"
stand_in apt-get "echo \"apt-get \$*\" >>'$calls'"
setup() { : >"$calls"; PATH=$scratch/bin:/usr/sbin:/usr/bin:/sbin:/bin "$scratch/tree/scripts/setup"; }
# put VERSION: as somebody unpacks it by hand.
put() {
  rm -rf "$copy"
  mkdir "$copy"
  : >"$copy/xdelta3.c"
  printf '  XPR(NTR "Xdelta version %s, Copyright (C) 2007-2016\\n");\n' "$1" >"$copy/xdelta3-main.h"
}
is_distribution() { grep -q "^ID=$1\$" /etc/os-release; }

check_refused "without a source package it says what to do" 1 "Unpack 3.0.11 or newer into $copy" setup
! is_distribution debian || check_equal "and on Debian nothing of Ubuntu" "" "$(setup 2>&1 | grep universe)"
for version in 3.0.11 3.1.0 3.2.0; do
  put "$version"
  touch "$copy/own"
  check "a copy of $version is taken" setup
  check_equal "as it is" yes "$([ -e "$copy/own" ] && echo yes)"
  check_equal "without asking apt" "" "$(cat "$calls")"
  check_equal "its version is kept for the bill of materials" "$version" "$(cat "$copy/.version")"
  check "the recipe of its build is there" cmp "$copy/meson.build" "$project/subprojects/packagefiles/xdelta3/meson.build"
  touch -d '2001-01-01' "$copy"/{meson.build,.version}
  check "the next run" setup
  check_equal "writes nothing" "" "$(find "$copy" -newermt '2001-01-02' \( -name meson.build -o -name .version \))"
done
put 3.0.9
check_refused "an older one is refused by its version" 1 "$copy has xdelta3 3.0.9, and 3.0.11 or newer is needed" setup
put unknown
check_refused "so is one of no version" 1 "$copy has xdelta3 of no known version" setup
exit $((failures > 0))
