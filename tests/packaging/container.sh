# A Debian in a container, with the package, under a booted systemd (systemd-nspawn); to be sourced with the folder that scripts/package made as its
# argument. It ends the test where that cannot work. Sets suite, scratch (removed at the end) and root, and has what follows.
# shellcheck shell=bash
# shellcheck disable=SC2034  # for the tests

here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
packages=$(realpath "${1:?the folder that scripts/package made}")
deb=$(find "$packages" -maxdepth 1 -name 'dedupfs_*.deb')
suite=${SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)} # of this machine
mirror=${MIRROR:-http://deb.debian.org/debian}
cd / # a folder that the container has, too
give_up() { echo "FAIL environment: $1"; echo "0 passed, 1 failed"; exit 1; }
[ -f "$deb" ] || give_up "$packages has not one dedupfs_*.deb"
[ "$(id -u)" -eq 0 ] || give_up "not root"
[ -c /dev/fuse ] || give_up "/dev/fuse is missing"
for program in systemd-nspawn debootstrap nsenter; do
  command -v "$program" >/dev/null || give_up "$program is missing: run scripts/setup --package"
done

scratch=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-container.XXXXXX")")
root=$scratch/root
nspawn='' # the process
leader='' # of the container
passed=0
at_end=() # a command
clean_up() {
  [ -z "$nspawn" ] || { kill -9 "$leader" "$nspawn"; wait "$nspawn"; } 2>/dev/null
  "${at_end[@]}"
  rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# shellcheck source=../integration/checks.sh
. "$here/../integration/checks.sh"
pass() { echo "PASS $1"; passed=$((passed + 1)); }
check_here() { if "${@:2}"; then pass "$1"; else fail "$1" "${*:2}"; fi; } # for commands that change variables

# make_base PACKAGES: the system, with these packages of the distribution, separated by commas. BASE=FOLDER keeps it there for the next run.
make_base() {
  local base=${BASE:-$scratch/base}
  [ -x "$base/usr/lib/systemd/systemd" ] || debootstrap --variant=minbase --include="systemd,systemd-sysv,dbus,$1" "$suite" "$base" "$mirror" || return 1
  cp -a "$base" "$root"
}
# install_package [PACKAGE...]: dedupfs, as a user installs it: apt brings what it depends on. And further packages.
install_package() {
  cp "$deb" "$root/dedupfs.deb"
  cp --remove-destination -L /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends /dedupfs.deb "$@" || return 1
  rm "$root/usr/sbin/policy-rc.d"
}

# `inside COMMAND...`, which each test defines, runs it in the container of the process $leader.
is_booted() {
  leader=$(cat "/proc/$nspawn/task/$nspawn/children")
  leader=${leader%% *}
  [ -n "$leader" ] && [[ $(inside systemctl is-system-running) =~ ^(running|degraded)$ ]]
}
# boot [OPTION...]: of systemd-nspawn.
boot() {
  systemd-nspawn --quiet --register=no --keep-unit --directory="$root" --machine="dedupfs-${scratch##*.}" --boot --console=passive --bind=/dev/fuse \
    "$@" </dev/null >"$scratch/console.log" 2>&1 &
  nspawn=$!
  wait_until 90 is_booted
}
# The container goes down by itself, or is ended.
await_poweroff() {
  local status=0
  timeout 120 tail --pid="$nspawn" -f /dev/null || { kill -9 "$leader" "$nspawn"; status=1; }
  wait "$nspawn" 2>/dev/null
  nspawn=''
  return "$status"
}

# prepared STEP...: does them, and ends the test if one fails.
prepared() {
  local step
  for step; do
    check "$step" "$step"
    [ "$failures" -eq 0 ] || { echo "$passed passed, $failures failed"; exit 1; }
  done
}
# booted COMMAND: does it, and ends the test if it fails.
booted() {
  check_here "it boots" "$@"
  [ "$failures" -eq 0 ] || { tail -n 30 "$scratch/console.log"; echo "$passed passed, $failures failed"; exit 1; }
}
