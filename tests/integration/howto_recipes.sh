# The recipes of docs/howto, typed as they stand, block after block, on one server; and what must be there then. To be sourced by what has such a
# server: howto_test.sh, and tests/packaging/howto_booted_test.sh.
# shellcheck shell=bash
#
# It gives `pages`, the checks of checks.sh, `scratch`, and these functions:
#   inside COMMAND...   runs it as root of the server
#   into FILE           takes standard input
#   next_day            a day passes
#   each_night          a day passes, and the job of the night has run; fails if the job does
#   mail_of WORD        there is a mail to root with it, and all mail goes
#   new_disk            it is there as /dev/sdb; fails if that cannot be
#   can_loop            mount -o loop works
#   make_postgres       the package is there, with its cluster `main`; sets version. Fails if it cannot be had

sh_inside() { inside bash -euo pipefail -c "$1"; }
noise_into() { python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(sys.argv[1]).randbytes(int(sys.argv[2])))' "$1" "$2" | into "$3"; }
sum_of_noise() { noise_into "$1" "$2" /root/noise && sh_inside 'sha256sum </root/noise'; }
is_noise() { [ "$(sum_of_noise "$1" "$2")" = "$(sh_inside "sha256sum <'$3'")" ]; } # SEED BYTES FILE
# rsync leaves the time of a folder alone that differs within the same second.
tree() { inside python3 /manifest.py "$1" 2>&1 | sed -E "s/^(.* d[rwxstST-]{9} [0-9]+ [0-9]+ [0-9]+)[0-9]{9}/\\1/"; }
equal_trees() { check_equal "$1" "$(tree "$2")" "$(tree "$3")"; }
disk_bytes() { inside dedupfs-stat --json /backup | python3 -c 'import json, sys; print(json.load(sys.stdin)["disk_bytes"])'; }
members() { sh_inside "cd /backup/.snapshots && ls -d *_$1"; }

# block PAGE NUMBER: the text of a block of commands.
block() {
  awk -v wanted="$2" '
    { line = $0; sub(/^ */, "", line) }
    inside && line == "```" { exit }
    inside { print substr($0, indent + 1) }
    line == "```sh" && ++count == wanted { inside = 1; indent = index($0, "`") - 1 }' "$pages/$1.md"
}
declare -A typed=()
# take PAGE FIRST [LAST]: these blocks, into `blocks`. They count as typed.
take() {
  local number text
  blocks=''
  for number in $(seq "$2" "${3:-$2}"); do
    text=$(block "$1" "$number")
    [ -n "$text" ] || { fail "$1.md" "there is no block $number"; return; }
    typed[$1 $number]=yes
    blocks+=$text$'\n'
  done
}
# types NAME PAGE FIRST [LAST]: all of it succeeds. refused NAME STATUS PATTERN PAGE NUMBER: it ends so, and says so.
types() { take "${@:2}"; check "$1" sh_inside "$blocks"; }
refused() { take "${@:4}"; check_refused "${@:1:3}" sh_inside "$blocks"; }
# said PAGE NUMBER: what it prints goes to $output.
said() { take "$@"; said_by sh_inside "$blocks"; }
left_out() { typed[$1 $2]=no; }
all_is_typed() {
  local number
  for number in $(seq "$(grep -c '^ *```sh$' "$pages/$1.md")"); do
    [ -n "${typed[$1 $number]:-}" ] || fail "$1.md" "block $number is not typed here"
  done
}

home_server() {
  sh_inside 'mkdir -p /home/anna && echo first >/home/anna/file && chown 1234:4321 /home/anna/file && setfacl -m u:1234:rw /home/anna'
  types "home server: from the programs to a first backup" home-server 1 4
  check "home server: it is mounted" inside mountpoint -q /backup
  check_equal "home server: the first night has a snapshot" 1 "$(members nightly | wc -l)"
  sh_inside 'cp -a /home /root/before && echo second >/home/anna/file && echo new >/home/anna/new'
  check "home server: the second night" each_night
  equal_trees "home server: the mount has the files of now" /home /backup/home
  types "home server: mail of what fails, and the timers" home-server 5 6
  check "home server: there is a mail of the trial" mail_of job_failed
  sh_inside 'mv /home /nowhere'
  check_refused "home server: a night that fails fails" 1 '' each_night
  check "home server: and there is a mail" mail_of job_failed
  sh_inside 'mv /nowhere /home'
  types "home server: the files of the first night come back" home-server 7
  check_equal "home server: as they were" first "$(inside cat /home/anna/file)"
  sh_inside 'rm /home/anna/new && touch -r /root/before/anna /home/anna && touch -r /root/before /home'
  equal_trees "home server: with owners and ACLs" /root/before /home
  all_is_typed home-server
}

deleted_file() {
  types "deleted file: a snapshot each hour" deleted-file 1 2
  check_equal "deleted file: the first is there" 1 "$(members hourly | wc -l)"
  sh_inside 'mkdir /home/anna/photos && echo dear >/home/anna/letter.txt && touch -d 2020-01-01 /home/anna/letter.txt'
  noise_into 1 100000 /home/anna/photos/one
  check "deleted file: it is in the backup of a night" each_night
  check "deleted file: and of an hour" inside systemctl start dedupfs-snapshot@backup.service
  sh_inside 'rm -r /backup/home/anna/{letter.txt,photos}'
  said deleted-file 3
  check "deleted file: the snapshots that have it" test "$(grep -c 'letter.txt$' <<<"$output")" -ge 2
  types "deleted file: it is copied back" deleted-file 4
  check_equal "deleted file: as it was" "dear 2020-01-01" "$(sh_inside 'echo $(cat /backup/home/anna/letter.txt) $(date -r /backup/home/anna/letter.txt +%F)')"
  types "deleted file: a folder is cloned back" deleted-file 5
  check "deleted file: with what was in it" is_noise 1 100000 /backup/home/anna/photos/one
  check "deleted file: cron and the unit keep the same" grep -qF \
    "create --set hourly $(sed -n 's/^ *SNAPSHOT_KEEP=//p' "$pages/deleted-file.md") /backup" "$pages/deleted-file.md"
  all_is_typed deleted-file
}

vm_images() {
  local before after
  sh_inside 'mkdir -p /var/lib/libvirt/images /root/guest/etc && echo web >/root/guest/etc/hostname'
  noise_into 2 3000000 /root/guest/data
  check "images: an image of a disk" inside mke2fs -q -t ext4 -d /root/guest /var/lib/libvirt/images/web.img 64M
  sh_inside 'cp /var/lib/libvirt/images/web.img /root/first.img'
  before=$(disk_bytes)
  types "images: it is stored" vm-images 1
  after=$(disk_bytes)
  check "images: holes and what is the same take no space" test $((after - before)) -lt 5000000
  sh_inside 'debugfs -w -R "rm /etc/hostname" /var/lib/libvirt/images/web.img' 2>/dev/null
  next_day
  types "images: a later state, too" vm-images 1
  check "images: that takes little more" test $(($(disk_bytes) - after)) -lt 1000000
  if can_loop; then
    said vm-images 2
    check_equal "images: the first state is looked into" web "$output"
  else
    skip "images: the first state is looked into" "this machine has no loop devices"
    left_out vm-images 2
  fi
  types "images: it comes back" vm-images 3
  check "images: with each byte" inside cmp /root/first.img /var/lib/libvirt/images/web.img
  all_is_typed vm-images
}

postgresql() {
  local rows="20000|200010000"
  make_postgres || { skip "PostgreSQL" "the packages postgresql and postgresql-common are not installed"; return; }
  as_postgres() { inside runuser -u postgres -- "$@"; }
  rows_of() { as_postgres psql --cluster "$version/$1" -At -c 'select count(*), sum(n) from t' "$2" 2>&1; }
  check "PostgreSQL: a database" sh_inside "cd / && runuser -u postgres -- createdb app &&
    runuser -u postgres -- psql -q -c 'create table t as select generate_series(1, 20000) as n' app"
  types "PostgreSQL: a dump, and it comes back" postgresql 1 3
  check_equal "PostgreSQL: with its rows" "$rows" "$(rows_of main restored)"
  next_day
  types "PostgreSQL: a backup of the cluster" postgresql 4
  if [ "$version" -ge 17 ]; then
    types "PostgreSQL: the server notes what changes" postgresql 6
    next_day
    types "PostgreSQL: a backup after that" postgresql 4
    as_postgres psql -q -c 'insert into t select generate_series(20001, 30000)' app
    next_day
    types "PostgreSQL: a backup of what has changed" postgresql 7
    rows="30000|450015000"
  else
    skip "PostgreSQL: backups of what has changed" "they came with version 17, and this is $version"
    left_out postgresql 6
    left_out postgresql 7
  fi
  types "PostgreSQL: it is restored and runs" postgresql 5
  check_equal "PostgreSQL: with its rows, too" "$rows" "$(rows_of restored app)"
  for cluster in restored main; do check "PostgreSQL: $cluster ends" inside pg_ctlcluster "$version" "$cluster" stop; done
  all_is_typed postgresql
}

# After all of these, each job still has what its own policy keeps.
policies() {
  local before
  before=$(members nightly; members hourly; members images; members postgresql 2>/dev/null)
  check "policies: another night" each_night
  check "policies: another hour" inside systemctl start dedupfs-snapshot@backup.service
  check_equal "policies: no job has deleted snapshots of another" "" "$(comm -23 <(sort <<<"$before") <(inside ls /backup/.snapshots | sort))"
}

offsite() {
  local copy=/mnt/copy
  inside mkdir /mnt/disk
  noise_into 6 3000000 /home/anna/photos/two
  inside chown 1234:4321 /home/anna/photos/two
  check "offsite: a night before" each_night
  types "offsite: a volume on the other machine" offsite 1
  types "offsite: the first night" offsite 2
  sh_inside 'echo new >/backup/home/anna/new'
  next_day
  types "offsite: the second night" offsite 2
  equal_trees "offsite: the other machine has the files" /backup/home $copy/home
  check_equal "offsite: and a snapshot of each night" 2 "$(inside ls $copy/.snapshots | wc -l)"
  check_equal "offsite: the first volume keeps none" "" "$(inside ls /backup/.snapshots | grep offsite)"
  differences() { said offsite 3; grep -v '^created\|^deleted' <<<"$output"; }
  typed[offsite 3]=yes # in a subshell
  next_day
  check_equal "offsite: they are equal" "" "$(differences)"
  sh_inside "printf x | dd of=$copy/home/anna/photos/two bs=1 seek=5000 conv=notrunc status=none
    touch -r /backup/home/anna/photos/two $copy/home/anna/photos/two"
  next_day
  check "offsite: a byte that differs is named" grep -q 'home/anna/photos/two$' <<<"$(differences)"
  types "offsite: files come back" offsite 4
  check_equal "offsite: as they were" new "$(inside cat /home/anna/new)"
  sh_inside "umount.dedupfs $copy && rm -r /mnt/disk/volume"
  types "offsite: another volume for snapshots" offsite 1
  types "offsite: a snapshot is sent" offsite 5
  sh_inside 'echo newer >/backup/home/anna/new'
  types "offsite: then what changed" offsite 6
  equal_trees "offsite: the snapshot is there" /backup/.snapshots/tuesday/home $copy/.snapshots/tuesday/home
  noise_into 7 3000000 /backup/home/anna/film
  inside dedupfs-snapshot create /backup wednesday 2>/dev/null
  inside bash -c 'dedupfs-send /backup --snapshot wednesday --since tuesday | head -c 1500000 | dedupfs-receive /mnt/copy' 2>/dev/null
  types "offsite: what broke goes on" offsite 7
  equal_trees "offsite: and arrives" /backup/.snapshots/wednesday/home $copy/home
  inside umount.dedupfs $copy
  types "offsite: a copy of the folder" offsite 8
  check "offsite: the volume is mounted again" inside mountpoint -q /backup
  check "offsite: the copy is whole" inside fsck.dedupfs -n --verify-data /mnt/disk/folder
  types "offsite: it is mounted there" offsite 9
  equal_trees "offsite: with the files" /backup/home $copy/home
  inside umount.dedupfs $copy
  all_is_typed offsite
}

disaster() {
  noise_into 5 3000000 /home/anna/big
  sh_inside 'echo small >/home/anna/small'
  check "disaster: a night before" each_night
  types "disaster: the service is stopped" disaster 1
  types "disaster: a sound volume is sound" disaster 2
  inside rm -r /srv/volume/index
  # Noise does not compress, so it lies in a container as it is.
  check "disaster: the index is lost, and a byte of a file" inside python3 -c 'import pathlib, random, sys
part = random.Random("5").randbytes(3000000)[1500000:1500032]
for path in filter(pathlib.Path.is_file, pathlib.Path("/srv/volume/containers").rglob("*")):
    data = path.read_bytes()
    at = data.find(part)
    if at >= 0:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        sys.exit()
sys.exit("no container has it")'
  refused "disaster: damage is found" 4 'index' disaster 2
  refused "disaster: what is whole is taken out" 4 'home/anna/big' disaster 3
  check "disaster: without what is damaged" sh_inside 'grep -q small /mnt/rescue/home/anna/small && [ ! -e /mnt/rescue/home/anna/big ]'
  refused "disaster: the volume is repaired, and the loss is named" 5 '/home/anna/big' disaster 4
  types "disaster: the next backup heals it" disaster 5
  equal_trees "disaster: all is there again" /home /backup/home
  inside systemctl stop dedupfs@backup.service
  check "disaster: fsck finds nothing any more" inside fsck.dedupfs -n --verify-data /srv/volume
  inside systemctl start dedupfs@backup.service
  all_is_typed disaster
}

new_disk_page() {
  if new_disk; then
    types "new disk: a filesystem that /etc/fstab mounts" new-disk 1
    check "new disk: by its UUID" inside grep -qE '^UUID=[0-9a-f-]{36} +/srv/disk2 ' /etc/fstab
  else
    skip "new disk: a filesystem that /etc/fstab mounts" "this machine has no loop devices"
    left_out new-disk 1
    inside mkdir /srv/disk2
  fi
  types "new disk: most is copied while the volume is in use" new-disk 2
  noise_into 4 3000000 /backup/home/later
  sh_inside 'rm /backup/home/anna/small && cp -a /backup/home /root/moved'
  types "new disk: then the rest, and fsck finds nothing" new-disk 3 4
  inside rm -r /srv/volume
  types "new disk: the service mounts it" new-disk 5
  equal_trees "new disk: with the files" /root/moved /backup/home
  types "new disk: the next night" new-disk 6
  check_equal "new disk: with the first night, too" first "$(sh_inside 'cat "$(ls -d /backup/.snapshots/*_nightly | head -n 1)/home/anna/file"')"
  all_is_typed new-disk
}

type_the_pages() {
  home_server
  deleted_file
  vm_images
  postgresql
  policies
  offsite
  disaster
  new_disk_page
}
