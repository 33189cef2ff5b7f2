#!/usr/bin/env bash
# The recipes of docs/howto (howto_recipes.sh). The server is a root of its own in a mount namespace: /srv, /home, /etc and so on are its own,
# programs are those of this machine. systemctl, apt, ssh and mail are stand-ins. A day passes by a file (days_later.c).
# What they need beside dedupfs: root, a C compiler, rsync; PostgreSQL, e2fsprogs and loop devices, systemd-analyze, which are named where they
# are missing. tests/packaging/howto_booted_test.sh types the pages on a system that is booted.

if [ "$(id -u)" -eq 0 ] && [ -z "${HOWTO_ROOT:-}" ]; then
  HOWTO_ROOT=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-howto.XXXXXX")") || exit 1
  export HOWTO_ROOT
  unshare --mount --propagation private "$0"
  status=$?
  rmdir "$HOWTO_ROOT" # all that was in it was mounted there
  exit "$status"
fi
. "$(dirname "$0")/lib.sh"

is_root || { skip "the recipes" "they are root's"; finish; }
command -v cc >/dev/null || { skip "the recipes" "no C compiler"; finish; }

# ---------------------------------------------------------------- the server
root=$HOWTO_ROOT
pages=$here/../../docs/howto
read_only() { mkdir -p "$root$2" && mount --bind "$1" "$root$2" && mount -o remount,bind,ro "$root$2"; }
make_root() {
  local place device
  mount -t tmpfs -o mode=755 none "$root"
  for place in /usr /bin /sbin /lib*; do
    if [ -L "$place" ]; then cp -P "$place" "$root$place"; else read_only "$place" "$place"; fi
  done
  mkdir -p "$root"/{home/anna,proc,dev/shm,mnt,root,run/postgresql,opt/local/bin}
  mkdir "$root/tmp"
  chmod 1777 "$root"/{tmp,dev/shm}
  mount -t proc proc "$root/proc"
  for device in null zero full random urandom tty fuse loop-control; do
    [ ! -e "/dev/$device" ] || cp -a "/dev/$device" "$root/dev/$device"
  done
  ln -s /proc/self/fd "$root/dev/fd"
  cp -a /etc "$root/etc"
  rm -rf "${root:?}"/etc/{dedupfs,systemd/system,postgresql,mtab}
  mkdir -p "$root/etc/systemd/system"
  ln -s /proc/self/mounts "$root/etc/mtab"
  : >"$root/etc/fstab"
  mkdir -p "$scratch"/disk/{srv,var} # not in memory
  for place in srv var; do mkdir "$root/$place" && mount --bind "$scratch/disk/$place" "$root/$place"; done
  mkdir -p "$root"/var/{lib/postgresql,log/postgresql,mail,tmp,cache,spool}
  ln -s ../run "$root/var/run"
  # What the package installs.
  mount --bind "$root/opt/local/bin" "$root/usr/local/bin"
  mount -t tmpfs none "$root/usr/share/doc"
  read_only "$here/../../contrib" /usr/share/doc/dedupfs/contrib
  read_only "$here/../../systemd" /units
  read_only "$tools" /tools
  read_only "$here/stand_ins" /stand_ins
  cp "$here/stand_ins/mail" "$root/opt/local/bin" # hooks of dedupfs-events have a PATH of their own
  cp "$here/manifest.py" "$root/manifest.py"
  cc -O1 -shared -fPIC -o "$root/days_later.so" "$here/days_later.c"
}

next_day() { printf x >>"$root/days_later"; }

inside() {
  chroot "$root" env -i HOME=/root USER=root LANG=C.UTF-8 LD_PRELOAD=/days_later.so \
    PATH=/stand_ins:/tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" </dev/null
}
into() { chroot "$root" dd of="$1" status=none; }
each_night() { next_day && inside systemctl start backup-home.service; }
mail_of() { grep -q "$1" "$root/var/mail/root" && : >"$root/var/mail/root"; }

loops=''
can_loop() {
  local device
  [ -z "$loops" ] || return "$loops"
  loops=1
  losetup -f >/dev/null 2>&1 || return 1
  for device in /dev/loop[0-9]*; do cp -a "$device" "$root/dev/"; done
  loops=0
}
new_disk() {
  can_loop || return 1
  truncate -s 400M "$scratch/new_disk"
  cp -a "$(losetup -f --show "$scratch/new_disk")" "$root/dev/sdb"
}

version=
make_postgres() {
  local programs
  programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
  [ -n "$programs" ] && command -v pg_createcluster >/dev/null || return 1
  version=$(basename "$(dirname "$programs")")
  chown postgres "$root"/{run,var/lib,var/log}/postgresql
  sh_inside "cd / && pg_createcluster $version main -- --no-sync && pg_ctlcluster $version main start" >/dev/null
}

leave() {
  local cluster place
  for cluster in restored main; do [ -z "$version" ] || inside pg_ctlcluster "$version" "$cluster" stop -m immediate >/dev/null 2>&1; done
  for place in /mnt/copy /backup; do ! mountpoint -q "$root$place" || inside umount.dedupfs "$place"; done
  umount --recursive --lazy "$root"
  clean_up
}
trap leave EXIT

. "$here/howto_recipes.sh"
check "a root for the server" make_root
[ "$failures" -eq 0 ] || exit 1
type_the_pages

if command -v systemd-analyze >/dev/null; then
  mkdir "$scratch/units"
  cp "$root"/etc/systemd/system/backup-home.* "$scratch/units"
  sed -i 's#^ExecStart=.*#ExecStart=/bin/true#' "$scratch/units/backup-home.service" # which is there in that root only
  printf '[Service]\nType=oneshot\nExecStart=/bin/true\n' | tee "$scratch/units/dedupfs@.service" >"$scratch/units/dedupfs-job-failed@.service"
  check_equal "home server: systemd takes the units" "" "$(systemd-analyze verify "$scratch"/units/backup-home.* 2>&1 | grep -F "$scratch")"
  check "home server: and the hour" systemd-analyze calendar hourly '*-*-* 02:00'
else
  skip "home server: systemd takes the units" "the package systemd is not installed"
fi
finish
