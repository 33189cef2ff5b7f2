#!/usr/bin/env bash
# The daemon as a process: its signals, its log file, what it may do, and what is left when it dies. And what every program has.
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
check_refused "a FIFO that nobody reads does not hang the mount" 1 "$scratch/fifo" timeout 90 dedupfs "$volume" "$mnt" -o "log=$scratch/fifo"
(umask 0 && mount_volume "log=$log")
check "it logs to the file" is_logged 'is mounted at' "$log"
check "also what it negotiated with the kernel" is_logged 'libfuse [0-9.]*, protocol 7[.][0-9]* of the kernel' "$log"
check "with the capabilities that it uses" is_logged 'used: .*posix_acl' "$log"
check_equal "the log file is for its owner alone" 600 "$(stat -c %a "$log")"

mv "$log" "$log.1"
kill -HUP "$(daemon_pid)"
check "SIGHUP opens the log file again" wait_until 60 test -e "$log"
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
check "where it cannot be opened again the old one stays in use" wait_until 60 is_logged 'stays in use' "$log.2"
check "and the mount lives on" grep -q data "$mnt/file"
for signal in TERM INT; do
  is_mounted "$mnt" || { rmdir "$log" 2>/dev/null; mount_volume "log=$log"; }
  kill -s "$signal" "$(daemon_pid)"
  check "SIG$signal unmounts" wait_until 30 no_daemon
done
rmdir "$log" 2>/dev/null

# What it has given up, by its /proc/PID.
status_of() { awk -v key="$1:" '$1 == key {print $2}' "/proc/$(daemon_pid)/status"; }
limit_of_core_files() { awk '/^Max core file size/ {print $5}' "/proc/$(daemon_pid)/limits"; }
if is_root; then
  echo 0 >/proc/self/oom_score_adj
  mount_volume auto_unmount
  check_equal "root's daemon gains no privileges by exec" 1 "$(status_of NoNewPrivs)"
  had=$(awk '$1 == "CapEff:" {print $2}' /proc/self/status)
  kept=$(printf %016x $((0x$had & (1 << 21 | 1 << 1 | 1 << 24)))) # CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_SYS_RESOURCE
  for set in CapPrm CapEff CapBnd; do check_equal "of root's capabilities three are left: $set" "$kept" "$(status_of $set)"; done
  for set in CapInh CapAmb; do check_equal "no capability is left: $set" 0000000000000000 "$(status_of $set)"; done
  threads_with() { cat "/proc/$(daemon_pid)"/task/*/status | grep -c "^$1"; }
  threads=$(threads_with "CapEff:")
  ! grep -q __tsan_init "$tools/dedupfs" || threads=$((threads - 1)) # ThreadSanitizer's own, from before main
  check_equal "so it is in every thread" "$threads" "$(threads_with "CapEff:.*$kept")"
  expected=0 # where this machine lets nobody lower it, as in some containers
  ! (echo -900 >/proc/self/oom_score_adj) 2>/dev/null || expected=-900
  check_equal "it is killed late when memory runs out" $expected "$(cat "/proc/$(daemon_pid)/oom_score_adj")"
else
  mount_volume
fi
check_equal "it leaves no core file" 0 "$(limit_of_core_files)"
check "unmount with what is left" unmount_volume
if is_root; then
  (echo 100 >/proc/self/oom_score_adj && mount_volume)
  check_equal "an oom score that somebody has set stays" 100 "$(cat "/proc/$(daemon_pid)/oom_score_adj")"
  unmount_volume
fi
# Sanitizers set a limit of their own, if they are let.
(ulimit -c 4096; TSAN_OPTIONS="${TSAN_OPTIONS:-} disable_coredump=0" ASAN_OPTIONS="${ASAN_OPTIONS:-}:disable_coredump=0" mount_volume core_dump)
check_equal "it leaves a core file if that is asked for" 4194304 "$(limit_of_core_files)"
unmount_volume

# Files of the one who started it: a pipe or a disk would be in use as long as the mount.
of_others() { find "/proc/$(daemon_pid)/fd" -lname "$scratch/of-caller*" | wc -l; }
# What a program that the daemon starts would get open, beyond the standard streams. Files of /proc and /sys are there for moments: the C
# library reads some so.
given_to_children() {
  local file number
  for file in "/proc/$(daemon_pid)"/fdinfo/*; do
    number=${file##*/}
    [ "$number" -gt 2 ] || continue
    ! awk '$1 == "flags:" && int($2 / 2000000) % 2 == 0 {found = 1} END {exit !found}' "$file" 2>/dev/null || readlink "${file%/*}/../fd/$number"
  done
}
gives_nothing() {
  given=$(given_to_children)
  [ -z "$given" ]
}
# Before ThreadSanitizer knows that a race is another library's, it starts a symbolizer, and keeps two pipes to it.
symbolizing=${TSAN_OPTIONS:-}
export TSAN_OPTIONS="$symbolizing symbolize=0"
for where in "in the background" "in the foreground"; do
  exec 7<>"$scratch/of-caller" 8<>"$scratch/of-caller-too"
  if [ "$where" = "in the background" ]; then
    mount_volume
  else
    dedupfs --foreground "$volume" "$mnt" 2>/dev/null &
    wait_until 20 is_mounted "$mnt"
  fi
  exec 7>&- 8>&-
  check_equal "$where it keeps no file of its caller open" 0 "$(of_others)"
  wait_until 20 gives_nothing
  check_equal "and gives none of its own to a program that it starts" "" "$given"
  unmount_volume
done
wait
export TSAN_OPTIONS="$symbolizing"

# Without standard streams: nothing that is meant for them gets into a file of the volume.
sum_of_volume() { find "$volume" -type f -exec sha256sum {} + | sort | sha256sum; }
before=$(sum_of_volume)
fsck.dedupfs -n "$volume" <&- >&- 2>&-
check_equal "a tool without standard streams writes into no file of the volume" "$before" "$(sum_of_volume)"
dedupfs "$volume" "$mnt" <&- >&- 2>&-
check_equal "a mount without standard streams succeeds" 0 $?
echo more >"$mnt/more"
check "unmount" unmount_volume
check "and the volume is whole" fsck.dedupfs -n "$volume"

# A daemon that cannot be reached at its control socket.
mount_volume commit=600
rm "$volume/control.sock"
head -c 3000000 /dev/urandom >"$mnt/unasked"
check "umount.dedupfs without a control socket" unmount_volume
check "it has waited for the daemon, which closed the volume" eval 'no_daemon && [ ! -s "$volume/lock" ] && fsck.dedupfs -n "$volume"'
mount_volume commit=600
mv "$volume" "$volume.moved"
head -c 3000000 /dev/urandom >"$mnt/moved"
cp "$mnt/moved" "$scratch/moved"
check_refused "without the folder of the volume it says that not all is certain to be durable" 64 'some changes may not be durable.*control socket' unmount_volume
wait_until 60 no_daemon
mv "$volume.moved" "$volume"
mount_volume ro
check "what was written is there, since it went through the mount" cmp "$mnt/moved" "$scratch/moved"
rm -f "$volume/control.sock" "$volume/lock"
check "a read-only mount needs neither socket nor lock" unmount_volume
wait_until 60 no_daemon
cp -a "$volume" "$scratch/whole"
mount_volume commit=600
rm -r "$volume/control.sock" "$volume/containers"
head -c 3000000 /dev/urandom >"$mnt/lost"
check_refused "without a control socket it says what cannot be made durable" 32 'stays mounted.*cannot be made durable' unmount_volume
check_refused "-f says that it is lost" 64 'some changes may not be durable' umount.dedupfs -f "$mnt"
wait_until 60 no_daemon
check "who lost changes leaves its process id in the lock" test -s "$volume/lock"
rm -r "$volume" && mv "$scratch/whole" "$volume"

# kill -9.
die() { kill -9 "$(daemon_pid)" && wait_until 60 no_daemon; }
mount_volume
stat "$mnt" >/dev/null # in the kernel's cache from here on, which answers for a daemon that is dead
die
check_refused "the mount of a dead daemon is there, and gives errors" 2 'not connected|connection abort' ls "$mnt"
said_by dedupfs "$volume" "$mnt"
check_equal "mount detaches it, mounts anew, and says so" "0 1 yes" "$? $(mounts_there) $(grep -q 'has died' <<<"$output" && echo yes)"
check "the files are there" grep -q data "$mnt/file"
die
mkfs.dedupfs "$scratch/other" >/dev/null
check_refused "a dead mount of another volume stays" 32 'has died, but the mount at .* is still there' dedupfs "$scratch/other" "$mnt"
check "umount.dedupfs takes a dead mount away" umount.dedupfs "$mnt"
mount_volume
pid=$(daemon_pid)
kill -STOP "$pid"
check_refused "a daemon that hangs does not hang the next mount" 32 'does not answer' timeout 60 dedupfs "$volume" "$mnt"
kill -CONT "$pid"
unmount_volume

# libfuse's helper leaves the mount where anything else is mounted or unmounted on the machine while it looks, and tries no second time.
goes_by_itself() {
  for _ in 1 2 3; do
    mount_volume auto_unmount && die || return
    ! wait_until 10 eval '! is_mounted "$mnt"' || return 0
  done
  return 1
}
check "with auto_unmount the mount of a dead daemon goes by itself" goes_by_itself
check "with auto_unmount an unmount is the usual one" eval 'mount_volume auto_unmount && unmount_volume && ! is_mounted "$mnt" && no_daemon'

# A daemon that is stopped: every tool says what it waits for, and goes on when the daemon does.
mount_volume
echo data >"$mnt/file"
commit
tools_that_wait=("dedupfs-sync $mnt" "dedupfs-stat $mnt" "dedupfs-stat --file $mnt/file" "dedupfs-clone $mnt/file $mnt/clone"
  "dedupfs-gc --status $mnt" "dedupfs-scrub --status $mnt" "dedupfs-snapshot list $mnt")
# For the cache of the kernel, which would answer some of it.
! is_root || echo 3 >/proc/sys/vm/drop_caches
kill -STOP "$(daemon_pid)"
waiting=()
for i in "${!tools_that_wait[@]}"; do
  timeout 120 ${tools_that_wait[i]} >/dev/null 2>"$scratch/said.$i" &
  waiting[i]=$!
done
for i in "${!tools_that_wait[@]}"; do
  check "${tools_that_wait[i]%% "$mnt"*} says what it waits for" wait_until 20 is_logged '^waiting for .* (at most' "$scratch/said.$i"
done
kill -CONT "$(daemon_pid)"
for i in "${!tools_that_wait[@]}"; do
  wait "${waiting[i]}"
  check_equal "and goes on with the daemon" 0 $?
done
unmount_volume

# fsck right after an unmount that does not wait.
mount_volume
noise 1 20000000 >"$mnt/noise"
fusermount3 -u "$mnt"
check "fsck.dedupfs waits for a daemon that is closing the volume" fsck.dedupfs -n "$volume"
mount_volume
noise 2 20000000 >"$mnt/noise"
pid=$(daemon_pid)
kill -STOP "$pid" # longer than anybody is silent
fusermount3 -u "$mnt"
dedupfs "$volume" "$mnt" 2>"$scratch/said" &
mounting=$!
check "mount says that it waits for such a daemon" wait_until 20 is_logged "waiting for .*process $pid" "$scratch/said"
kill -CONT "$pid"
wait "$mounting"
check_equal "and mounts when that has closed the volume" "0 yes" "$? $(is_mounted "$mnt" && echo yes)"
unmount_volume
mount_volume
check_refused "it does not wait for one that has it mounted" 8 'in use' timeout 90 fsck.dedupfs -n "$volume"
unmount_volume

# A mount that is bound to another place lives on there.
if is_root; then
  mount_volume
  mkdir "$mnt/sub" "$scratch/bound"
  mount --bind "$mnt/sub" "$scratch/bound"
  check_refused "umount.dedupfs says where the mount lives on" 16 "unmounted, and $scratch/bound is the same mount" umount.dedupfs "$mnt"
  check "and it does" eval 'echo x >"$scratch/bound/new"'
  check_refused "a mount that is refused says it, too" 32 "in use .*mounted at $scratch/bound" dedupfs "$volume" "$mnt"
  check "that place can be unmounted like any other" umount.dedupfs "$scratch/bound"
  check "then the volume is free" eval 'mount_volume && cmp "$mnt/sub/new" - <<<x && unmount_volume'
else
  skip "a mount that is bound to another place" "need root"
fi
finish
