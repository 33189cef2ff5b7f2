#!/usr/bin/env bash
# The Debian package: lintian says nothing; a mounted volume goes on through upgrade and removal; a purge leaves volumes alone.
# Installs the package on this machine and purges it at the end, so it refuses a machine that has it.
# Prints PASS or FAIL and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/package_test.sh FOLDER     what scripts/package made; as root
set -uo pipefail

packages=$(realpath "${1:?the folder that scripts/package made}")
root=$(realpath "$(dirname "$0")/../..") # of this tree
deb=$(find "$packages" -maxdepth 1 -name 'dedupfs_*.deb')
[ -f "$deb" ] || { echo "FAIL environment: $packages has not one dedupfs_*.deb"; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "FAIL environment: not root"; exit 1; }
for program in dpkg lintian systemd-analyze; do
  command -v "$program" >/dev/null || { echo "FAIL environment: $program is missing: run scripts/setup --package"; exit 1; }
done
[ ! -e /usr/bin/dedupfs ] || { echo "FAIL environment: /usr/bin/dedupfs is there already"; exit 1; }

purge() { dpkg --purge dedupfs; }
trap purge EXIT # until lib.sh sets its own
export DEBIAN_FRONTEND=noninteractive
dpkg --install "$deb" >/dev/null || { echo "FAIL install: see above"; exit 1; }
export DEDUPFS_TOOLS=/usr/bin
export IN_OWN_NAMESPACE=1 # which lib.sh would begin this script again in; no other test runs beside it
# shellcheck source=../integration/lib.sh
. "$root/tests/integration/lib.sh"
trap 'exec 7>&-; clean_up; purge >/dev/null' EXIT

passed=0
pass() {
  echo "PASS $1"
  passed=$((passed + 1))
}

says_nothing() { # COMMAND...: succeeds, and prints nothing
  local output
  output=$("$@" 2>&1) && [ -z "$output" ] || { echo "$output"; return 1; }
}
owned_links_lead_somewhere() {
  local link
  for link in mount.dedupfs mount.fuse.dedupfs umount.dedupfs umount.fuse.dedupfs mkfs.dedupfs fsck.dedupfs; do
    [ -x "/usr/sbin/$link" ] || { echo "$link"; return 1; }
  done
}
every_program_has_a_manual() {
  local program
  for program in $(dpkg --listfiles dedupfs | sed -nE 's#^/usr/s?bin/(.+)#\1#p'); do
    compgen -G "/usr/share/man/man[18]/$program.[18].gz" >/dev/null || { echo "$program"; return 1; }
  done
}
every_program_has_completions() {
  local program
  for program in $(dpkg --listfiles dedupfs | sed -nE 's#^/usr/bin/(.+)#\1#p'); do
    for script in "bash-completion/completions/$program" "zsh/site-functions/_$program" "fish/vendor_completions.d/$program.fish"; do
      [ -s "/usr/share/$script" ] || { echo "$script"; return 1; }
    done
  done
}
the_rest_is_there() {
  diff -r "$root/docs/schemas" /usr/share/dedupfs/schemas || return 1
  [ -d /usr/share/doc/dedupfs/contrib/events ] && [ -s /usr/share/doc/dedupfs/contrib/prometheus/dedupfs.rules.yml ] &&
    [ -s /usr/share/doc/dedupfs/contrib/systemd/encrypted.conf ]
}
links_of_documents_lead_somewhere() { says_nothing python3 -B "$root/tests/packaging/dead_links.py" /usr/share/doc/dedupfs; }
units() { dpkg --listfiles dedupfs | sed -nE 's#^/(usr/)?lib/systemd/system/(.+\.[a-z]+)$#\2#p' | sort; }
units_of_sources() {
  local file
  for file in "$root"/systemd/*.{service.in,timer}; do basename "$file" .in; done | sort
}
unit_is_clean() { says_nothing systemd-analyze verify --man=no --recursive-errors=no "$1"; }
nothing_starts_by_itself() { ! find /etc/systemd /lib/systemd /usr/lib/systemd -type l -name '*dedupfs*' | grep .; }
content() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }
still_serves() { # NAME: the old file reads back, the open file takes more, a new file can be written
  local name=$1
  check "$name: the daemon is the same" test "$(daemon_pid)" = "$daemon"
  check "$name: files read back" cmp "$scratch/first" "$mnt/first"
  check "$name: an open file takes writes" eval 'echo "$name" >&7'
  check "$name: new files are written and durable" eval 'cp "$scratch/second" "$mnt/$name" && sync "$mnt"'
}

# A program that writes all the time, and must not see an error.
start_writer() {
  rm -f "$scratch/stop"
  (
    exec 7>&-
    until [ -e "$scratch/stop" ]; do
      echo line >>"$mnt/lines" || exit 1
      sleep 0.05
    done
  ) &
  writer=$!
}
stop_writer() { # NAME
  local status=0
  touch "$scratch/stop"
  wait "$writer" || status=$?
  check_equal "$1: a program that wrote all the time saw no error" 0 "$status"
}

check "lintian says nothing" says_nothing lintian --no-cfg --profile debian --allow-root "$packages"/dedupfs_*.changes
check "every program has a manual" every_program_has_a_manual
check "every program has completions for three shells" every_program_has_completions
check "schemas, alert rules and examples are there" the_rest_is_there
check "links in the documentation lead somewhere" links_of_documents_lead_somewhere
check "the helpers of mount and umount are found" owned_links_lead_somewhere
check_equal "every unit of the sources is there, and no other" "$(units_of_sources)" "$(units)"
for unit in $(units); do
  check "$unit is clean" unit_is_clean "${unit/@./@srv-backup.}"
done
check "no unit starts by itself" nothing_starts_by_itself
check "the programs are hardened" env DEDUPFS_TOOLS=/usr/bin "$root/tests/integration/elf_test.sh"

# The form of the RPM spec; rpm_test.sh builds from it.
if command -v rpmspec >/dev/null && command -v rpmlint >/dev/null; then
  spec=$root/packaging/dedupfs.spec
  check "rpmspec reads the RPM spec" rpmspec --query "$spec"
  check "rpmlint finds no error in it" rpmlint "$spec"
else
  skip "the RPM spec" "rpm and rpmlint are not installed"
fi
bill=$(find "$packages" -name 'dedupfs_*.spdx.json')
check "a bill of materials stands beside the package" python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["spdxVersion"] != "SPDX-2.3")' "$bill"

noise 1 3000000 >"$scratch/first"
noise 2 1000000 >"$scratch/second"
mkdir "$mnt"
check "mkfs" mkfs.dedupfs "$volume"
check "mount(8) mounts" mount -t dedupfs "$volume" "$mnt"
cp "$scratch/first" "$mnt/first"
exec 7>"$mnt/open"
daemon=$(daemon_pid)
start_writer

# An upgrade: the same package with a higher version.
mkdir "$scratch/upgrade"
dpkg-deb --raw-extract "$deb" "$scratch/upgrade/tree"
sed -i 's/^Version: .*/&+test/' "$scratch/upgrade/tree/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 --build "$scratch/upgrade/tree" "$scratch/upgrade/dedupfs.deb" >/dev/null
check "upgrade" eval 'dpkg --install "$scratch/upgrade/dedupfs.deb" >"$scratch/upgrade.log" 2>&1'
check "the upgrade says that a restart is due, and where" grep -q "$mnt is still served.*$daemon.*restart is due" "$scratch/upgrade.log"
still_serves upgraded

stop_writer upgraded
exec 7>&-
check "umount(8) and mount(8) bring the new version" eval 'umount "$mnt" && mount -t dedupfs "$volume" "$mnt"'
daemon=$(daemon_pid)
check_equal "the new daemon runs the installed program" /usr/bin/dedupfs "$(readlink "/proc/$daemon/exe")"
dedupfs-top --interval 1 --json "$mnt" >/dev/null 2>&1 &
tool=$!
check "reinstallation" eval 'dpkg --install "$scratch/upgrade/dedupfs.deb" >"$scratch/again.log" 2>&1'
check "and it names the mount once, and no tool" test "$(grep -c "restart is due" "$scratch/again.log")" = 1
check "a tool that runs goes on" kill "$tool"
exec 7>>"$mnt/open"
start_writer

check "removal" eval 'dpkg --remove dedupfs >"$scratch/remove.log" 2>&1'
check "the removal names the mount" grep -q "$mnt stays mounted.*process $daemon " "$scratch/remove.log"
check "the programs are gone" test ! -e /usr/bin/dedupfs
still_serves removed
stop_writer removed
exec 7>&-
content "$mnt" >"$scratch/before"
check "umount by hand, without the package" umount "$mnt"
check "the daemon ends" wait_until 60 no_daemon

check "purge" eval 'purge >"$scratch/purge.log" 2>&1'
check "a purge leaves nothing of the package" says_nothing find /usr /etc /lib/systemd -xdev -name '*dedupfs*' -not -path '/usr/src/*'
check "and leaves the volume" test -f "$volume/superblock.json"

dpkg --install "$deb" >/dev/null 2>"$scratch/fresh.log"
check_equal "an installation without mounts says nothing" "" "$(cat "$scratch/fresh.log")"
check "fsck finds no fault" fsck.dedupfs -n --verify-data "$volume"
check "the volume mounts again" mount -t dedupfs "$volume" "$mnt"
check_equal "and has every byte" "$(cat "$scratch/before")" "$(content "$mnt")"
check "umount(8) unmounts" umount "$mnt"
check "and waits for the daemon" no_daemon

check_json
echo "$passed passed, $failures failed"
exit $((failures > 0))
