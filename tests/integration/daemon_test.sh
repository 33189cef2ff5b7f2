#!/usr/bin/env bash
# The daemon as a process: its signals and its log file. And what every program has.
. "$(dirname "$0")/lib.sh"

for program in "$tools"/*dedupfs*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  name=${program##*/}
  for flag in -V --version; do
    output=$("$program" "$flag" 2>&1)
    check "$name $flag prints name and version, and succeeds" grep -Exq "0 $name [0-9]+\.[0-9]+\.[0-9]+" <<<"$? $output"
  done
done
ln -s "$(realpath "$tools/dedupfs")" "$scratch/mount.dedupfs"
check "a mount helper has a version, too" "$scratch/mount.dedupfs" --version

log=$scratch/log
lines_of() { grep -c . "$1"; }
is_logged() { grep -q "$1" "$2"; }

mkfs.dedupfs "$volume" >/dev/null
mkdir "$mnt"
check_refused "a log file that cannot be opened is named" 1 "$scratch/none/log.*No such file" dedupfs "$volume" "$mnt" -o "log=$scratch/none/log"
mkfifo "$scratch/fifo"
check_refused "a FIFO that nobody reads does not hang the mount" 1 "$scratch/fifo" timeout 20 dedupfs "$volume" "$mnt" -o "log=$scratch/fifo"
(umask 0 && mount_volume "log=$log")
check "it logs to the file" is_logged 'is mounted at' "$log"
check_equal "the log file is for its owner alone" 600 "$(stat -c %a "$log")"

mv "$log" "$log.1"
kill -HUP "$(daemon_pid)"
check "SIGHUP opens the log file again" wait_until 10 test -e "$log"
check_equal "the new log file is for its owner alone" 600 "$(stat -c %a "$log")"
check "SIGHUP does not unmount" eval 'is_mounted "$mnt" && echo data >"$mnt/file"'
before=$(lines_of "$log.1")
check "unmount" unmount_volume
check "lines go to the new file" is_logged 'is unmounted' "$log"
check_equal "the old one is left alone" "$before" "$(lines_of "$log.1")"

mount_volume "log=$log"
pid=$(daemon_pid)
mv "$log" "$log.2" && mkdir "$log"
kill -HUP "$pid"
check "where it cannot be opened again the old one stays in use" wait_until 10 is_logged 'stays in use' "$log.2"
check "and the mount lives on" grep -q data "$mnt/file"
for signal in TERM INT; do
  is_mounted "$mnt" || { rmdir "$log" 2>/dev/null; mount_volume "log=$log"; }
  kill -s "$signal" "$(daemon_pid)"
  check "SIG$signal unmounts" wait_until 30 no_daemon
done
finish
