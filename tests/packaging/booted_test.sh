#!/usr/bin/env bash
# The package under a booted systemd: a Debian in a container, by systemd-nspawn. Units, watchdog, kill -9, timers, fstab, automount,
# events, an encrypted volume, and whether what was written just before a poweroff is there.
# Prints PASS or FAIL and a name a line; the last line is "N passed, N failed".
#
# Usage: tests/packaging/booted_test.sh FOLDER      what scripts/package made; as root
# It needs systemd-nspawn, debootstrap, the network for debootstrap and apt, and /dev/fuse.
# BASE=FOLDER keeps the debootstrapped system there for the next run. SUITE and MIRROR say which system; otherwise that of this machine.
set -uo pipefail

# shellcheck source=container.sh
. "$(dirname "$0")/container.sh"

make_system() { make_base fuse3,cron; }
installs_with_apt() { install_package rsync; } # README.md copies with it
# inside COMMAND...: in the running container.
inside() { nsenter --target "$leader" --all env --chdir=/ -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@" </dev/null; }
sh_inside() { inside bash -uc "$1"; }
boots() {
  local devices=()
  [ ! -c /dev/autofs ] || devices+=(--bind=/dev/autofs)
  boot --private-network "${devices[@]}"
}

property() { inside systemctl show --value --property="$1" "$2"; }
is_active() { [ "$(property ActiveState "$1")" = active ]; }
status_of_unit() { property StatusText "$1"; }
mounts_at() { inside grep -c " $1 fuse" /proc/mounts; }
file_is() { [ "$(inside sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }
is_running() { sh_inside "grep -qx '$1' /proc/[0-9]*/comm 2>/dev/null"; } # a small system has no pgrep
not_running() { ! is_running "$1"; }
has_events() { inside grep -q "$1" /hooked; }
unit=dedupfs@backup.service

prepared make_system installs_with_apt
booted boots
check_equal "the package started nothing" "" "$(inside systemctl list-units --plain --no-legend '*dedupfs*' | cut -d' ' -f1)"

# What README.md says to type, as it is installed.
sh_inside 'mkdir -p /srv /backup /home/anna && echo dear >/home/anna/letter && ln /home/anna/letter /home/anna/link'
readme=$(sed -n '/^```console$/,/^```$/s/^\$ //p' "$root/usr/share/doc/dedupfs/README.md")
check "README.md has commands" test "$(wc -l <<<"$readme")" -ge 8
check "all of them work" inside bash -euo pipefail -c "$readme"
check "both copies are there" sh_inside 'mount -t dedupfs /srv/volume /backup && diff -r /home /backup/monday && diff -r /home /backup/tuesday && umount /backup'
sh_inside 'rm -r /srv/volume'

# A volume under its service.
check "mkfs" sh_inside 'mkdir -p /srv /backup /etc/dedupfs/event.d && mkfs.dedupfs /srv/volume && echo VOLUME=/srv/volume >/etc/dedupfs/backup.conf'
sh_inside 'printf "#!/bin/sh\necho \"\$DEDUPFS_EVENT \$DEDUPFS_MOUNTPOINT\" >>/hooked\n" >/etc/dedupfs/event.d/hook && chmod 755 /etc/dedupfs/event.d/hook'
check "enable --now returns when it is mounted" sh_inside "systemctl enable --now $unit && mountpoint -q /backup"
check_equal "it says that it is ready" "ready: /srv/volume is mounted at /backup" "$(status_of_unit $unit)"
daemon=$(property MainPID $unit)
check_equal "the main process is the daemon" /usr/bin/dedupfs "$(inside readlink "/proc/$daemon/exe")"
check "its lines in the journal have the volume" sh_inside 'journalctl --sync; journalctl -q VOLUME=/srv/volume MOUNTPOINT=/backup | grep -q "is mounted at"'
check "and the unit" sh_inside "journalctl -q -u $unit VOLUME=/srv/volume | grep -q 'is mounted at'"
check "events are looked at each minute" sh_inside 'systemctl start dedupfs-events.service && systemctl enable --now dedupfs-events.timer'

# kill -9.
check "files are written" sh_inside 'head -c 3000000 /dev/urandom >/backup/data && dedupfs-sync /backup'
sum=$(inside sha256sum /backup/data | cut -d' ' -f1)
sh_inside 'exec 7</backup/data; read -r -N 1 -u 7 _; touch /held; until [ -e /killed ]; do sleep 0.1; done; cat <&7 >/dev/null 2>/handle; echo $? >/handle.rc' 2>/dev/null &
holder=$!
wait_until 20 test -e "$root/held"
begin=$(date +%s%N)
sh_inside "kill -9 $daemon"
is_mounted_again() { [ "$(property MainPID $unit)" != "$daemon" ] && is_active $unit && inside mountpoint -q /backup; }
check "after kill -9 it is mounted again" wait_until 30 is_mounted_again
took=$((($(date +%s%N) - begin) / 1000000))
check "in less than 5 s ($took ms)" test "$took" -lt 5000
touch "$root/killed"
wait "$holder"
check_equal "an open file gives an error" 1 "$(cat "$root/handle.rc")"
check_equal "the mount is there once" 1 "$(mounts_at /backup)"
check "files read back" file_is /backup/data "$sum"
check_equal "systemd counts one restart" 1 "$(property NRestarts $unit)"
sh_inside 'systemctl start dedupfs-events.service'
check "the death is an event" has_events '^daemon_died /backup$'

# The watchdog, with less patience than the package has.
sh_inside "mkdir -p /run/systemd/system/$unit.d && printf '[Service]\nWatchdogSec=4s\nTimeoutAbortSec=1s\n' >/run/systemd/system/$unit.d/test.conf &&
  systemctl daemon-reload && systemctl restart $unit"
daemon=$(property MainPID $unit)
sleep 9
check_equal "a daemon that answers is left alone" "$daemon" "$(property MainPID $unit)"
sh_inside "kill -STOP $daemon"
check "one that hangs is ended by the watchdog and mounted again" wait_until 40 is_mounted_again
check "files read back" file_is /backup/data "$sum"
sh_inside "rm -r /run/systemd/system/$unit.d && systemctl daemon-reload"

# A volume that is not there.
sh_inside 'mkdir /none && echo VOLUME=/srv/none >/etc/dedupfs/none.conf; systemctl start dedupfs@none.service'
has_failed() { [ "$(property ActiveState dedupfs@none.service)" = failed ]; }
check "a volume that is missing ends in a failed unit" wait_until 60 has_failed
check "and in an event" wait_until 20 has_events '^daemon_died /none$'
sh_inside 'systemctl reset-failed'

# Timers.
metrics=/var/lib/prometheus/node-exporter/dedupfs-backup.prom
mounted_in_metrics() { inside sed -n 's/^dedupfs_mounted{.*} //p' "$metrics"; }
sh_inside 'systemctl start dedupfs-metrics@backup.service; journalctl --sync' 2>/dev/null
check "metrics without a folder for them: the journal names the file" sh_inside \
  "journalctl -q -u dedupfs-metrics@backup.service | grep -q 'dedupfs-stat: $metrics: No such file'"
sh_inside 'systemctl reset-failed; install -d -o nobody /var/lib/prometheus/node-exporter'
for job in scrub snapshot gc settle metrics; do
  check "dedupfs-$job@backup.timer waits for its time" sh_inside "systemctl enable --now dedupfs-$job@backup.timer && systemctl list-timers --all | grep -q dedupfs-$job@backup"
  check "dedupfs-$job@backup.service does its work" sh_inside "systemctl start dedupfs-$job@backup.service"
done
check "a snapshot is there" sh_inside 'dedupfs-snapshot list /backup | grep -q .'
sh_inside 'systemctl start dedupfs-events.service'
check "the end of the scrub is an event" has_events '^scrub_ended /backup$'
check_equal "the metrics say that it is mounted" 1 "$(mounted_in_metrics)"
sh_inside 'systemctl disable --now dedupfs-metrics@backup.timer' # who reads an unmounted volume keeps mount(8) below from mounting it
for job in scrub snapshot gc settle metrics; do
  sh_inside "mkdir -p /run/systemd/system/dedupfs-$job@backup.service.d && : >/hooked
    printf '[Service]\nExecStart=\nExecStart=/bin/false\nRestart=no\n' >/run/systemd/system/dedupfs-$job@backup.service.d/test.conf
    systemctl daemon-reload; systemctl start dedupfs-$job@backup.service" 2>/dev/null
  check "a failure of dedupfs-$job@backup.service is an event" wait_until 20 has_events '^job_failed /backup$'
  sh_inside "rm -r /run/systemd/system/dedupfs-$job@backup.service.d; systemctl daemon-reload; systemctl reset-failed"
done

sh_inside 'exec 7</backup/data; touch /held.again; until [ -e /stopped ]; do sleep 0.1; done' &
wait_until 20 test -e "$root/held.again"
check "stop unmounts also if a program has a file open" sh_inside "systemctl stop $unit && ! mountpoint -q /backup"
touch "$root/stopped"
check_equal "in good order" success "$(property Result $unit)"
check "start mounts again" sh_inside "systemctl start $unit && sha256sum /backup/data | grep -q $sum"
check "stop unmounts" sh_inside "systemctl stop $unit && ! mountpoint -q /backup"
check_equal "in good order" success "$(property Result $unit)"
check "and no daemon is left" not_running dedupfs

# Settling without a mount, as after a nightly backup. Slowed down, it is under way when somebody mounts.
landed() { sh_inside 'dedupfs-stat --json /srv/volume | tr , "\n" | sed -n "s/.*\"landed_bytes\": *//p" | head -n 1'; }
check "data lands" sh_inside "mount -t dedupfs /srv/volume /backup -o settle=off,slow_source=0 && base64 -w 0 /dev/urandom | head -c 50000000 >/backup/fast && umount /backup"
check "some of it is not settled" test "$(landed)" -gt 10000000
settler=dedupfs-settle@backup.service
sh_inside "mkdir -p /run/systemd/system/$settler.d && systemctl daemon-reload
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/dedupfs-gc --settle --wait --rate 100k \${VOLUME}\n' >/run/systemd/system/$settler.d/test.conf
  systemctl daemon-reload && systemctl start --no-block $settler"
has_the_index_open() { sh_inside "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q ' /srv/volume/index/'"; }
check "a settling of the unmounted volume begins" wait_until 60 has_the_index_open
check_refused "who mounts meanwhile is refused" 32 "in use" sh_inside 'mount -t dedupfs /srv/volume /backup'
check "but its service ends the settling, and mounts" sh_inside "systemctl start $unit && mountpoint -q /backup"
check_equal "which is no failure" "inactive success" "$(property ActiveState $settler) $(property Result $settler)"
check "stop unmounts" sh_inside "systemctl stop $unit && ! mountpoint -q /backup"
sh_inside "rm -r /run/systemd/system/$settler.d && systemctl daemon-reload"
check "the next one settles the rest without a mount" sh_inside "systemctl start $settler"
check_equal "all of it" 0 "$(landed)"
check "start mounts again" sh_inside "systemctl start $unit && sha256sum /backup/data | grep -q $sum"

# Metrics without a mount. One that reads for long is under way when somebody mounts.
reader=dedupfs-metrics@backup.service
check "stop unmounts" sh_inside "systemctl stop $unit && ! mountpoint -q /backup"
check "metrics of the unmounted volume are written" sh_inside "systemctl start $reader"
check_equal "and say that it is not mounted" 0 "$(mounted_in_metrics)"
sh_inside "mkdir -p /run/systemd/system/$reader.d
  printf '[Service]\nExecStart=\nExecStart=sh -c \"exec 7</srv/volume/lock; flock --shared 7; exec sleep 300\"\n' >/run/systemd/system/$reader.d/test.conf
  systemctl daemon-reload && systemctl start --no-block $reader"
has_a_reader() { ! sh_inside 'flock --exclusive --nonblock /srv/volume/lock true'; }
check "a reader of the unmounted volume begins" wait_until 20 has_a_reader
check_refused "who mounts meanwhile is refused" 32 "in use" sh_inside 'mount -t dedupfs /srv/volume /backup'
check "but its service ends the reader, and mounts" sh_inside "systemctl start $unit && mountpoint -q /backup"
check_equal "which is no failure" "inactive success" "$(property ActiveState $reader) $(property Result $reader)"
sh_inside "rm -r /run/systemd/system/$reader.d && systemctl daemon-reload"

# /etc/fstab, for the next boot.
sh_inside 'mkdir /plain /auto /absent && mkfs.dedupfs /srv/plain && mkfs.dedupfs /srv/auto'
cat >>"$root/etc/fstab" <<'FSTAB'
/srv/plain /plain dedupfs nofail,_netdev 0 0
/srv/auto /auto dedupfs nofail,x-systemd.automount 0 0
/srv/absent /absent dedupfs nofail 0 0
FSTAB
check "mount -a" sh_inside 'systemctl daemon-reload; mount /plain && mountpoint -q /plain'
check "remount,ro makes it read-only" sh_inside 'mount -o remount,ro /plain && ! touch /plain/x'
check "remount,rw makes it writable" sh_inside 'mount -o remount,rw /plain && touch /plain/x'

# An encrypted volume, whose key is a credential of its unit.
check "mkfs of an encrypted volume" sh_inside 'mkdir /sealed && echo "the key of the machine" >/etc/dedupfs/sealed.key && chmod 400 /etc/dedupfs/sealed.key &&
  mkfs.dedupfs --encrypt --key-file /etc/dedupfs/sealed.key /srv/sealed && echo VOLUME=/srv/sealed >/etc/dedupfs/sealed.conf'
sh_inside 'systemctl start dedupfs@sealed.service'
check_equal "without its key the unit does not mount it" "" "$(inside findmnt -n /sealed)"
check "the drop-in for its key" sh_inside 'systemctl stop dedupfs@sealed.service; systemctl reset-failed
  mkdir /etc/systemd/system/dedupfs@sealed.service.d &&
  cp /usr/share/doc/dedupfs/contrib/systemd/encrypted.conf /etc/systemd/system/dedupfs@sealed.service.d && systemctl daemon-reload'
check "the same drop-in is enough to settle it without a mount" sh_inside 'cp -r /etc/systemd/system/dedupfs@sealed.service.d /etc/systemd/system/dedupfs-settle@sealed.service.d &&
  systemctl daemon-reload && systemctl start dedupfs-settle@sealed.service'
check "and to write its metrics" sh_inside 'cp -r /etc/systemd/system/dedupfs@sealed.service.d /etc/systemd/system/dedupfs-metrics@sealed.service.d &&
  systemctl daemon-reload && systemctl start dedupfs-metrics@sealed.service'
check "enable --now returns when it is mounted, for all to see" sh_inside 'systemctl enable --now dedupfs@sealed.service && mountpoint -q /sealed'
check "the environment of the daemon does not hold the key" sh_inside \
  '! grep -qa "the key of the machine" "/proc/$(systemctl show --value --property=MainPID dedupfs@sealed.service)/environ"'

# An unmount ships to the bucket. This one stands for what brings the network up, and says what is still mounted when it ends.
cat >"$root/etc/systemd/system/uplink.service" <<'UNIT'
[Unit]
Wants=network.target
Before=network.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=true
ExecStop=sh -c 'grep " fuse.dedupfs " /proc/mounts | cut -d " " -f 2 >/mounted_at_the_end'
UNIT
check "the network is up" sh_inside 'systemctl daemon-reload && systemctl start uplink.service'

# What is written just before the poweroff, without a sync.
sh_inside 'for place in /backup /plain /sealed; do head -c 20000000 /dev/urandom >$place/last; sha256sum $place/last; done >/sums; systemctl poweroff --no-block' >/dev/null
check_here "it powers off" await_poweroff
closed_in_order() { [ -z "$(find "$1/index" -name '*.log' -size +0)" ]; }
check_equal "what is mounted was unmounted before the network went" "" "$(cat "$root/mounted_at_the_end" 2>&1)"
for name in volume plain; do check "/srv/$name was closed before the end" closed_in_order "$root/srv/$name"; done

check_here "it boots again" boots
check "the service is up" wait_until 60 is_active $unit
check "the encrypted volume is up" wait_until 60 is_active dedupfs@sealed.service
check "fstab mounted its volume" inside mountpoint -q /plain
check "what was written just before the poweroff is there" inside sha256sum --quiet -c /sums
check "the mount of systemd's automount waits for a user" sh_inside 'systemctl is-active auto.automount && ! grep -q " /auto fuse" /proc/mounts'
check "and mounts for the first" sh_inside 'touch /auto/file && grep -q " /auto fuse" /proc/mounts'
check "nofail: a volume that is absent holds up no boot" sh_inside 'systemctl is-active multi-user.target && systemctl is-failed absent.mount'
check_equal "no mount is stacked" "1 1 1" "$(mounts_at /backup) $(mounts_at /plain) $(mounts_at /auto)"

# An upgrade with the volume mounted: nothing is restarted.
daemon=$(property MainPID $unit)
check "reinstallation" sh_inside 'dpkg --install /dedupfs.deb'
check_equal "leaves the daemon alone" "$daemon" "$(property MainPID $unit)"
sh_inside 'systemctl poweroff --no-block'
check_here "it powers off again" await_poweroff
for name in volume plain auto; do check "/srv/$name was closed before the end" closed_in_order "$root/srv/$name"; done

echo "$passed passed, $failures failed"
exit $((failures > 0))
