#!/usr/bin/env bash
# The recipes of docs/howto, typed as they stand on a Debian under a booted systemd: a container, by systemd-nspawn. The package, and all that the
# pages install, comes with apt. A loop device stands in for the new disk, the machine itself for the other one, and a day passes by a file that a
# library in each program reads, for the clock is that of this machine. So timers do not run by themselves: the test starts what they would start. A
# container does not mount disks of /etc/fstab when it boots, so that line is tried by `mount`.
# Beside the pages of tests/integration/howto_test.sh it types that of Samba. It does not type that of NFS, which needs the server of the kernel.
# Prints PASS, FAIL or SKIP and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/howto_booted_test.sh FOLDER      what scripts/package made on that Debian; as root
# It needs systemd-nspawn, debootstrap, a C compiler, loop devices, /dev/fuse, and the network for debootstrap and apt.
# BASE=FOLDER keeps the debootstrapped system there for the next run. SUITE (trixie) and MIRROR say which system.
set -uo pipefail

here=$(realpath "$(dirname "$0")")
packages=$(realpath "${1:?the folder that scripts/package made}")
deb=$(find "$packages" -maxdepth 1 -name 'dedupfs_*.deb')
suite=${SUITE:-trixie}
mirror=${MIRROR:-http://deb.debian.org/debian}
# shellcheck disable=SC2034  # for howto_recipes.sh
pages=$here/../../docs/howto
give_up() { echo "FAIL environment: $1"; echo "0 passed, 1 failed"; exit 1; }
[ -f "$deb" ] || give_up "$packages has not one dedupfs_*.deb"
[ "$(id -u)" -eq 0 ] || give_up "not root"
for device in fuse loop-control; do [ -c "/dev/$device" ] || give_up "/dev/$device is missing"; done
for program in systemd-nspawn debootstrap nsenter cc; do command -v "$program" >/dev/null || give_up "$program is missing"; done

scratch=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-howto.XXXXXX")")
root=$scratch/root
nspawn='' # the process
leader='' # of the container
disk=''   # the loop device
passed=0
clean_up() {
  [ -z "$nspawn" ] || { kill -9 "$leader" "$nspawn"; wait "$nspawn"; } 2>/dev/null
  [ -z "$disk" ] || losetup -d "$disk"
  rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
cd / # a folder that the container has, too

# shellcheck source=../integration/checks.sh
. "$here/../integration/checks.sh"
pass() { echo "PASS $1"; passed=$((passed + 1)); }
check_here() { if "${@:2}"; then pass "$1"; else fail "$1" "${*:2}"; fi; } # for commands that change variables

# Small; and what the test asks there: python3, acl.
make_base() {
  local base=${BASE:-$scratch/base}
  [ -x "$base/usr/lib/systemd/systemd" ] ||
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,openssh-server,ca-certificates,python3,acl "$suite" "$base" "$mirror" || return 1
  cp -a "$base" "$root"
}
configure_system() {
  echo 'LABEL=root  /  ext4  defaults  0  1' >"$root/etc/fstab"
  echo '127.0.0.1 localhost other' >"$root/etc/hosts"
  # Root may log in at "other", as the page wants.
  rm -rf "$root/root/.ssh"
  install -d -m 700 "$root/root/.ssh"
  ssh-keygen -q -t ed25519 -N '' -f "$root/root/.ssh/id_ed25519"
  cp "$root/root/.ssh/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
  printf 'StrictHostKeyChecking accept-new\n' >"$root/root/.ssh/config"
  cp "$here/../integration/manifest.py" "$root/manifest.py"
  cc -O1 -shared -fPIC -o "$root/days_later.so" "$here/../integration/days_later.c"
  echo LD_PRELOAD=/days_later.so >"$root/etc/environment" # of those who log in
  mkdir -p "$root/etc/systemd/system.conf.d"
  printf '[Manager]\nDefaultEnvironment=LD_PRELOAD=/days_later.so\n' >"$root/etc/systemd/system.conf.d/clock.conf"
}
install_package() {
  cp "$deb" "$root/dedupfs.deb"
  cp --remove-destination -L /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -q update && apt-get -q install -y --no-install-recommends /dedupfs.deb' || return 1
  rm "$root/usr/sbin/policy-rc.d"
}

# inside COMMAND...: in the running container.
inside() {
  nsenter --target "$leader" --all env --chdir=/root -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb HOME=/root \
    DEBIAN_FRONTEND=noninteractive LD_PRELOAD=/days_later.so "$@" </dev/null
}
into() { nsenter --target "$leader" --all dd of="$1" status=none; }
is_booted() {
  leader=$(cat "/proc/$nspawn/task/$nspawn/children")
  leader=${leader%% *}
  [ -n "$leader" ] && [[ $(inside systemctl is-system-running) =~ ^(running|degraded)$ ]]
}
plug_in_disk() {
  truncate -s 400M "$scratch/disk.img"
  disk=$(losetup -f --show "$scratch/disk.img")
}
# With the network of this machine, for apt.
boot() {
  local device devices
  devices=(--bind=/dev/fuse --bind=/dev/loop-control "--bind=$disk:/dev/sdb")
  for device in /dev/loop[0-9]*; do devices+=("--bind=$device"); done
  systemd-nspawn --quiet --register=no --keep-unit --directory="$root" --machine="dedupfs-${scratch##*.}" --boot --console=passive \
    --resolv-conf=off "${devices[@]}" </dev/null >"$scratch/console.log" 2>&1 &
  nspawn=$!
  wait_until 90 is_booted
}
await_poweroff() {
  local status=0
  timeout 120 tail --pid="$nspawn" -f /dev/null || { kill -9 "$leader" "$nspawn"; status=1; }
  wait "$nspawn" 2>/dev/null
  nspawn=''
  return "$status"
}

next_day() { printf x >>"$root/days_later"; }
each_night() { next_day && inside systemctl start backup-home.service; }
mail_of() {
  has_mail() { sh_inside "grep -qs '$1' /var/mail/*"; }
  wait_until 120 has_mail "$1" && sh_inside 'rm -f /var/mail/*'
}
new_disk() { true; }
can_loop() { true; }
make_postgres() {
  version=$(sh_inside 'apt-get -q install -y --no-install-recommends postgresql >/dev/null 2>&1; pg_lsclusters --no-header' | awk '$2 == "main" { print $1 }')
  [ -n "$version" ]
}

samba() {
  types "Samba: its programs, the snapshots and the share" samba 1 3
  check "Samba: a user" sh_inside 'useradd anna; printf "word\nword\n" | smbpasswd -s -a anna && chown anna /backup/share'
  client() { sh_inside "cd /root && smbclient --user=anna%word //localhost/backup -c '$1'"; }
  sh_inside 'echo first >/backup/share/report.odt && sleep 1 && systemctl start dedupfs-snapshot@backup.service && echo second >/backup/share/report.odt'
  check "Samba: she reads the file" sh_inside "cd /root && smbclient --user=anna%word //localhost/backup -c 'get report.odt' && grep -q second report.odt"
  versions=$(client 'allinfo report.odt' 2>/dev/null | grep -o '^@GMT-[0-9.-]*' | sort)
  check_equal "Samba: the snapshots of the set are the versions, and no others" "$(members hourly | wc -l)" "$(wc -l <<<"$versions")"
  newest=$(tail -n 1 <<<"$versions")
  check "Samba: and the newest has the file of then" sh_inside \
    "cd /root && smbclient --user=anna%word //localhost/backup -c 'get $newest\\report.odt old.odt' && grep -q first old.odt"
  all_is_typed samba
}

# shellcheck source=../integration/howto_recipes.sh
. "$here/../integration/howto_recipes.sh"
for step in make_base configure_system install_package; do
  check "$step" "$step"
  [ "$failures" -eq 0 ] || { echo "$passed passed, $failures failed"; exit 1; }
done
check_here "a loop device for the new disk" plug_in_disk
check_here "it boots" boot
[ "$failures" -eq 0 ] || { tail -n 30 "$scratch/console.log"; echo "$passed passed, $failures failed"; exit 1; }

type_the_pages
inside systemctl reset-failed dedupfs@backup.service # so many starts in ten minutes are only ours
samba
check_equal "starts of the service warn of nothing" "" "$(sh_inside 'journalctl --sync; journalctl -q -u dedupfs@backup.service | grep -i "still active\|still be activated" || true')"
check "the timers of the recipes wait for their time" sh_inside 'for timer in backup-home dedupfs-events dedupfs-scrub@backup dedupfs-gc@backup dedupfs-snapshot@backup; do
  systemctl is-active $timer.timer; done'

inside systemctl poweroff
check_here "it powers off" await_poweroff
check_here "it boots again" boot
check "the disk of /etc/fstab is mounted by its UUID" sh_inside 'mount --all && findmnt /srv/disk2'
# Without its disk the service has failed meanwhile.
check "the service mounts the volume" sh_inside 'systemctl stop dedupfs@backup.service; systemctl reset-failed dedupfs@backup.service
  systemctl start dedupfs@backup.service && mountpoint -q /backup && ls /backup/home/anna/file'
check "a night after that" each_night
inside systemctl poweroff
check_here "it powers off" await_poweroff
echo "$passed passed, $failures failed"
exit $((failures > 0))
