#!/usr/bin/env bash
# The recipes of docs/howto: the commands of each page, as they stand there, but for the places.
# What they need beside dedupfs: rsync; PostgreSQL, e2fsprogs and loop devices, systemd-analyze, which are named where they are missing.
. "$(dirname "$0")/lib.sh"

is_root || { skip "the recipes" "they are root's"; finish; }

pages=$here/../../docs/howto
# Where the places of the pages are here.
places=()
while read -r theirs ours; do places+=(-e "s#(^|[ \">=:])$theirs\\b#\\1$ours#g"); done <<END
/srv/volume $volume
/backup $mnt
/home $scratch/home
/mnt $scratch/other
/var/lib $scratch/var
/usr/local/bin $scratch/bin
/etc/dedupfs $scratch/etc
END
places+=(-e 's/--keep-(daily|weekly|monthly) [0-9]+ ?//g') # a day here takes a second

# block PAGE LANGUAGE NUMBER: the text of a code block.
block() {
  awk -v wanted="$3" -v opening="\`\`\`$2" '
    { line = $0; sub(/^ +/, "", line) }
    inside && line == "```" { exit }
    inside { print line }
    line == opening && ++count == wanted { inside = 1 }' "$pages/$1.md" | sed -E "${places[@]}"
}
# recipe NAME PAGE NUMBER: its commands run.
recipe() {
  local commands
  commands=$(block "$2" sh "$3")
  [ -n "$commands" ] || { fail "$1" "$2.md has no block $3"; return; }
  check "$1" bash -euo pipefail -c "$commands"
}
fresh() { # an empty volume, mounted, and empty folders for the other places
  ! is_mounted "$mnt" || unmount_volume
  rm -rf "${scratch:?}"/{home,other,var,bin,etc}
  mkdir -p "$scratch"/{home/anna,other,var,bin,etc}
  new_volume
  remount allow_other,snapshots=visible
}
# rsync leaves the time of a folder alone that differs within the same second.
in_seconds() { python3 "$here/manifest.py" "$1" | sed -E "s/^(.* d[rwxstST-]{9} [0-9]+ [0-9]+ [0-9]+)[0-9]{9}/\\1/"; }
same_tree() { check_equal "$1" "$(in_seconds "$2")" "$(in_seconds "$3")"; }
snapshot() { dedupfs-snapshot create "$mnt" "$1" 2>/dev/null; }

# ---------------------------------------------------------------- deleted-file.md
fresh
mkdir -p "$mnt/anna/photos"
echo dear >"$mnt/anna/letter.txt"
touch -d 2020-01-01 "$mnt/anna/letter.txt"
noise 1 100000 >"$mnt/anna/photos/one"
snapshot 2020-01-01_00-00-00
recipe "deleted file: a snapshot by cron" deleted-file 1
rm -r "$mnt/anna/letter.txt" "$mnt/anna/photos"
snapshot 9999-later
check_equal "deleted file: the snapshots that have it" 2 "$(bash -c "$(block deleted-file sh 2)" | wc -l)"
recipe "deleted file: it is copied back" deleted-file 3
check_equal "deleted file: as it was" "dear 2020-01-01" "$(cat "$mnt/anna/letter.txt") $(date -r "$mnt/anna/letter.txt" +%F)"
recipe "deleted file: a folder is cloned back" deleted-file 4
check "deleted file: with what was in it" cmp "$mnt/anna/photos/one" <(noise 1 100000)
check "deleted file: cron and the unit keep the same" grep -qF "create $(sed -n 's/^ *SNAPSHOT_KEEP=//p' "$pages/deleted-file.md") /backup" \
  "$pages/deleted-file.md"

# ---------------------------------------------------------------- home-server.md
unmount_volume
rm -rf "$volume" "${scratch:?}/etc"
recipe "home server: a volume is made" home-server 1
check "home server: the unit would find it" grep -qx "VOLUME=$volume" "$scratch/etc/backup.conf"
mount_volume allow_other,snapshots=visible
echo first >"$scratch/home/anna/file"
chown 1234:4321 "$scratch/home/anna/file"
setfacl -m u:1234:rw "$scratch/home/anna"
block home-server sh 2 >"$scratch/bin/backup-home"
chmod +x "$scratch/bin/backup-home"
check "home server: the first night" "$scratch/bin/backup-home"
cp -a "$scratch/home" "$scratch/before"
echo second >"$scratch/home/anna/file"
echo new >"$scratch/home/anna/new"
read -r -t 1.1 <> <(:) # names have whole seconds
check "home server: the second night" "$scratch/bin/backup-home"
same_tree "home server: the mount has the files of now" "$scratch/home" "$mnt/home"
recipe "home server: the files of the first night come back" home-server 3
check_equal "home server: as they were" first "$(cat "$scratch/home/anna/file")"
rm "$scratch/home/anna/new"
touch -r "$scratch/before/anna" "$scratch/home/anna"
touch -r "$scratch/before" "$scratch/home"
same_tree "home server: with owners and ACLs" "$scratch/before" "$scratch/home"
if command -v systemd-analyze >/dev/null; then
  mkdir "$scratch/units"
  block home-server ini 2 >"$scratch/units/backup-home.timer"
  block home-server ini 3 >"$scratch/units/backup-home.service"
  printf '[Service]\nType=oneshot\nExecStart=/bin/true\n' >"$scratch/units/dedupfs@.service"
  check_equal "home server: systemd takes the units" "" "$(systemd-analyze verify "$scratch"/units/backup-home.* 2>&1 | grep -F "$scratch")"
  check "home server: and the hour" systemd-analyze calendar hourly '*-*-* 02:00'
else
  skip "home server: systemd takes the units" "the package systemd is not installed"
fi

# ---------------------------------------------------------------- vm-images.md
fresh
images=$scratch/var/libvirt/images
mkdir -p "$images" "$scratch/guest/etc"
echo web >"$scratch/guest/etc/hostname"
noise 2 3000000 >"$scratch/guest/data"
check "images: an image of a disk" mke2fs -q -t ext4 -d "$scratch/guest" "$images/web.img" 64M
cp "$images/web.img" "$scratch/first.img"
recipe "images: it is stored" vm-images 1
before=$(stat_of disk_bytes)
debugfs -w -R 'rm /etc/hostname' "$images/web.img" 2>/dev/null
read -r -t 1.1 <> <(:)
recipe "images: a later state, too" vm-images 1
check "images: that takes little more" test $(($(stat_of disk_bytes) - before)) -lt 1000000
check "images: holes and what is the same take no space" test "$before" -lt 5000000
if losetup -f >/dev/null 2>&1; then
  check_equal "images: the first state is looked into" web "$(bash -euo pipefail -c "$(block vm-images sh 2)" 2>&1)"
else
  skip "images: the first state is looked into" "this machine has no loop devices"
fi
recipe "images: it comes back" vm-images 3
check "images: with each byte" cmp "$scratch/first.img" "$images/web.img"

# ---------------------------------------------------------------- new-disk.md
fresh
mkdir "$mnt/home"
noise 3 3000000 >"$mnt/home/file"
snapshot first
commit
mkdir -p "$scratch/other/new"
recipe "new disk: most is copied while the volume is in use" new-disk 1
noise 4 3000000 >"$mnt/home/later"
rm "$mnt/home/file"
cp -a "$mnt/home" "$scratch/moved"
recipe "new disk: then the rest" new-disk 2
recipe "new disk: fsck finds nothing" new-disk 3
rm -r "$volume"
recipe "new disk: it is mounted" new-disk 4
same_tree "new disk: with the files" "$scratch/moved" "$mnt/home"
check "new disk: and the snapshots" cmp "$mnt/.snapshots/first/home/file" <(noise 3 3000000)
umount.dedupfs "$mnt"

# ---------------------------------------------------------------- offsite.md
fresh
cp -a "$scratch/home" "$mnt/"
mkdir "$scratch/other/disk"
noise 6 3000000 >"$mnt/home/anna/photos"
chown 1234:4321 "$mnt/home/anna/photos"
# What the page does on the other machine happens here.
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >"$scratch/bin/ssh"
chmod +x "$scratch/bin/ssh"
with_other() { PATH=$scratch/bin:$PATH "$@"; }
recipe "offsite: a volume on the other machine" offsite 1
with_other recipe "offsite: the first night" offsite 2
echo new >"$mnt/home/anna/new"
read -r -t 1.1 <> <(:)
with_other recipe "offsite: the second night" offsite 2
same_tree "offsite: the other machine has the files" "$mnt/home" "$scratch/other/copy/home"
check_equal "offsite: and a snapshot of each night" 2 "$(find "$scratch/other/copy/.snapshots" -mindepth 1 -maxdepth 1 | wc -l)"
check_equal "offsite: the first volume keeps none" 0 "$(find "$mnt/.snapshots" -mindepth 1 -maxdepth 1 | wc -l)"
differences() { with_other bash -euo pipefail -c "$(block offsite sh 3)" 2>&1 | grep -v '^created\|^deleted'; }
check_equal "offsite: they are equal" "" "$(differences)"
printf x | dd of="$scratch/other/copy/home/anna/photos" bs=1 seek=5000 conv=notrunc status=none
touch -r "$mnt/home/anna/photos" "$scratch/other/copy/home/anna/photos"
check "offsite: a byte that differs is named" grep -q 'home/anna/photos$' <<<"$(differences)"
with_other recipe "offsite: files come back" offsite 4
check_equal "offsite: as they were" new "$(cat "$scratch/home/anna/new")"
umount.dedupfs "$scratch/other/copy"
rm -r "$scratch/other/disk/volume"
recipe "offsite: another volume for snapshots" offsite 1
with_other recipe "offsite: a snapshot is sent" offsite 5
echo newer >"$mnt/home/anna/new"
with_other recipe "offsite: then what changed" offsite 6
same_tree "offsite: the snapshot is there" "$mnt/.snapshots/tuesday/home" "$scratch/other/copy/.snapshots/tuesday/home"
noise 7 3000000 >"$mnt/home/anna/film"
dedupfs-snapshot create "$mnt" wednesday 2>/dev/null
dedupfs-send "$mnt" --snapshot wednesday --since tuesday | head -c 1500000 | dedupfs-receive "$scratch/other/copy" 2>/dev/null
with_other recipe "offsite: what broke goes on" offsite 7
same_tree "offsite: and arrives" "$mnt/.snapshots/wednesday/home" "$scratch/other/copy/home"
umount.dedupfs "$scratch/other/copy"
with_other recipe "offsite: a copy of the folder" offsite 8
check "offsite: it is whole" fsck.dedupfs -n --verify-data "$scratch/other/disk/folder"
recipe "offsite: it is mounted there" offsite 9
same_tree "offsite: with the files" "$mnt/home" "$scratch/other/copy/home"
umount.dedupfs "$scratch/other/copy"

# ---------------------------------------------------------------- disaster.md
fresh
noise 5 3000000 >"$scratch/home/anna/big"
echo small >"$scratch/home/anna/small"
cp -a "$scratch/home" "$mnt/"
unmount_volume
recipe "disaster: a sound volume is sound" disaster 1
rm -r "$volume/index"
container=$(find "$volume/containers" -type f -size +1M | head -n 1)
printf x | dd of="$container" bs=1 seek=1000000 conv=notrunc status=none
check_refused "disaster: damage is found" 4 'index' bash -euo pipefail -c "$(block disaster sh 1)"
check_refused "disaster: what is whole is taken out" 4 'home/anna/big' bash -euo pipefail -c "$(block disaster sh 2)"
check "disaster: without what is damaged" eval \
  'grep -q small "$scratch/other/rescue/home/anna/small" && [ ! -e "$scratch/other/rescue/home/anna/big" ]'
check_refused "disaster: the volume is repaired, and the loss is named" 5 '/home/anna/big' bash -euo pipefail -c "$(block disaster sh 3)"
recipe "disaster: the next backup heals it" disaster 4
same_tree "disaster: all is there again" "$scratch/home" "$mnt/home"
unmount_volume
check "disaster: fsck finds nothing any more" fsck.dedupfs -n --verify-data "$volume"

# ---------------------------------------------------------------- postgresql.md
postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$postgres" ]; then
  skip "PostgreSQL" "it is not installed"
  finish
fi
fresh
chmod 777 "$scratch" "$scratch/var"
mkdir "$scratch/var/postgresql"
install -d -o postgres "$scratch/var/postgresql"
as_postgres() { (cd / && timeout 120 runuser -u postgres -- env PATH="$postgres:$PATH" PGHOST="$scratch" "$@"); }
rows() { as_postgres psql -At -c 'select count(*), sum(n) from t' "$1" 2>&1; }
stop_postgres() { as_postgres pg_ctl -D "$1" -m immediate -w stop >/dev/null 2>&1; }
trap 'stop_postgres "$scratch/cluster"; stop_postgres "$scratch/var/postgresql/restored"; clean_up' EXIT
recipe_of_postgres() { check "$1" as_postgres bash -euo pipefail -c "$(block postgresql sh "$2")"; }
check "PostgreSQL: a cluster" eval 'as_postgres initdb -D "$scratch/cluster" -A trust --no-sync >"$scratch/pg.log" 2>&1 &&
  as_postgres pg_ctl -D "$scratch/cluster" -w -l "$scratch/cluster/log" -o "-k $scratch -c listen_addresses= -c fsync=off" start &&
  as_postgres createdb app && as_postgres psql -q -c "create table t as select generate_series(1, 20000) as n" app'
recipe "PostgreSQL: a folder for it" postgresql 1
recipe_of_postgres "PostgreSQL: a dump" 2
recipe "PostgreSQL: a snapshot of it" postgresql 3
recipe_of_postgres "PostgreSQL: it comes back" 4
check_equal "PostgreSQL: with its rows" "20000|200010000" "$(rows restored)"
recipe_of_postgres "PostgreSQL: a backup of the cluster" 5
stop_postgres "$scratch/cluster"
mkdir -p "$scratch/settings"
as_postgres true
check "PostgreSQL: it is restored and runs" as_postgres env PGOPTIONS= bash -euo pipefail -c \
  "$(block postgresql sh 6 | sed "s#--wait#--wait --options='-k $scratch -c listen_addresses='#")"
check_equal "PostgreSQL: with its rows, too" "20000|200010000" "$(rows app)"
stop_postgres "$scratch/var/postgresql/restored"

finish
