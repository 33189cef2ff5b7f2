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
# BASE=FOLDER keeps the debootstrapped system there for the next run. SUITE and MIRROR say which system; otherwise that of this machine.
set -uo pipefail

# shellcheck source=container.sh
. "$(dirname "$0")/container.sh"
[ -c /dev/loop-control ] || give_up "/dev/loop-control is missing"
command -v cc >/dev/null || give_up "cc is missing"
# shellcheck disable=SC2034  # for howto_recipes.sh
pages=$here/../../docs/howto
disk='' # the loop device
unplug_disk() { [ -z "$disk" ] || losetup -d "$disk"; }
at_end=(unplug_disk)

# Small; and what the test needs there: python3, acl, e2fsprogs.
make_system() { make_base openssh-server,ca-certificates,python3,acl,e2fsprogs; }
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
# inside COMMAND...: in the running container.
inside() {
  nsenter --target "$leader" --all env --chdir=/root -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb HOME=/root \
    DEBIAN_FRONTEND=noninteractive LD_PRELOAD=/days_later.so "$@" </dev/null
}
into() { nsenter --target "$leader" --all dd of="$1" status=none; }
plug_in_disk() {
  truncate -s 400M "$scratch/disk.img"
  disk=$(losetup -f --show "$scratch/disk.img")
}
# With the network of this machine, for apt.
boots() {
  local device devices=(--bind=/dev/loop-control "--bind=$disk:/dev/sdb")
  for device in /dev/loop[0-9]*; do devices+=("--bind=$device"); done
  boot --resolv-conf=off "${devices[@]}"
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
prepared make_system configure_system install_package
check_here "a loop device for the new disk" plug_in_disk
booted boots

type_the_pages
inside systemctl reset-failed dedupfs@backup.service # so many starts in ten minutes are only ours
samba
check_equal "starts of the service warn of nothing" "" "$(sh_inside 'journalctl --sync; journalctl -q -u dedupfs@backup.service | grep -i "still active\|still be activated" || true')"
check "the timers of the recipes wait for their time" sh_inside 'for timer in backup-home dedupfs-events dedupfs-scrub@backup dedupfs-gc@backup dedupfs-snapshot@backup; do
  systemctl is-active $timer.timer; done'

inside systemctl poweroff
check_here "it powers off" await_poweroff
check_here "it boots again" boots
check "the disk of /etc/fstab is mounted by its UUID" sh_inside 'mount --all && findmnt /srv/disk2'
# Without its disk the service has failed meanwhile.
check "the service mounts the volume" sh_inside 'systemctl stop dedupfs@backup.service; systemctl reset-failed dedupfs@backup.service
  systemctl start dedupfs@backup.service && mountpoint -q /backup && ls /backup/home/anna/file'
check "a night after that" each_night
inside systemctl poweroff
check_here "it powers off" await_poweroff
echo "$passed passed, $failures failed"
exit $((failures > 0))
