#!/usr/bin/env bash
# A daemon under a service manager: what it tells it, and what happens after kill -9 and when it hangs. The service manager is a few
# lines of Python, so that the test needs no systemd; tests/packaging/booted_test.sh has the real one.
. "$(dirname "$0")/lib.sh"

told=$scratch/told
events=$scratch/events
supervise() { # WATCHDOG_SECONDS
  : >"$told"
  python3 "$here/supervise.py" "$told" "$1" dedupfs --foreground "$volume" "$mnt" 2>>"$daemon_log" &
  supervisor=$!
}
times_told() { grep -c -- "$1" "$told"; }
is_told() { [ "$(times_told "$1")" -ge "${2:-1}" ]; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
look() { dedupfs-events --hooks "$scratch/event.d" --state "$scratch/events.json" "$mnt" >"$events" 2>&1; }

mkfs.dedupfs "$volume" >/dev/null
mkdir "$mnt"
supervise 60
check "READY=1 comes when it is mounted" wait_until 30 is_told 'READY=1'
check "and the mount answers then" stat -f "$mnt"
check "it said before what it did" grep -q "^EXTEND_TIMEOUT_USEC=.*STATUS=opening $volume" "$told"
check "and says that it is ready" grep -q "STATUS=ready: $volume is mounted at $mnt" "$told"
check_equal "the supervised process is the daemon itself" "$(sed -n 's/^started //p' "$told")" "$(daemon_pid)"

mkdir -m 755 "$scratch/event.d"
printf '#!/bin/sh\necho "$DEDUPFS_EVENT $DEDUPFS_MOUNTPOINT" >>%q\n' "$scratch/hooked" >"$scratch/event.d/hook"
chmod 755 "$scratch/event.d/hook"
check "a look at a sound mount" look
check_equal "finds no event of it" "" "$(cat "$events")"

# kill -9 with an open file.
noise 1 3000000 >"$scratch/data"
cp "$scratch/data" "$mnt/data"
commit
exec 7<"$mnt/data"
read -r -N 100 -u 7 _ 2>/dev/null
begin=$(milliseconds)
kill -9 "$(daemon_pid)"
check "after kill -9 it is mounted again" wait_until 30 is_told 'READY=1' 2
took=$(($(milliseconds) - begin))
check "in less than 5 s ($took ms)" test "$took" -lt 5000
check_equal "the mount is there once" 1 "$(mounts_there)"
check_refused "an open file gives an error" 1 'not connected|connection abort|input/output' cat <&7
exec 7<&-
check "files read back" cmp "$scratch/data" "$mnt/data"
check "it said that it recovered" grep -q "STATUS=recovering $volume, which was not closed" "$told"
look
check_equal "the death is an event, though the mount is there" "daemon_died $mnt" "$(cat "$scratch/hooked")"
dedupfs-scrub --wait --rate 0 "$mnt" >/dev/null
scrub_is_told() { look && grep -q "scrub_ended $mnt: .*no damage" "$events"; }
check "the end of a scrub is one" wait_until 20 scrub_is_told # the daemon gives the same answer for a second

check "umount.dedupfs" umount.dedupfs "$mnt"
wait "$supervisor"
check_equal "the daemon ends in good order" 0 $?
check "it said that it was stopping" is_told '^STOPPING=1'
check_equal "no other was started" 2 "$(times_told '^started')"

# One that hangs is silent, and one that lives is heard.
supervise 1
check "a daemon with a watchdog is ready" wait_until 30 is_told 'READY=1'
check "and says that it lives" wait_until 30 is_told '^WATCHDOG=1$' 3
check_equal "so it is left alone" 1 "$(times_told '^started')"

# What runs beside requests, and how far it is: a scrub that takes its time, and a stream that nobody reads.
dedupfs-scrub --rate 10k "$mnt" >/dev/null
check "the status says how far a scrub is" wait_until 30 is_told "STATUS=ready: $volume is mounted at $mnt; scrub [0-9]* %"
dedupfs-snapshot create "$mnt" monday 2>/dev/null
mkfifo "$scratch/stream"
dedupfs-send "$mnt" --snapshot monday >"$scratch/stream" 2>/dev/null &
sender=$!
exec 8<"$scratch/stream"
check "beside a stream" wait_until 30 is_told 'STATUS=ready: .*; scrub .*; sending a snapshot'
cat <&8 >/dev/null
exec 8<&-
wait "$sender"
check_equal "which then ends in good order" 0 $?
dedupfs-scrub --stop "$mnt" >/dev/null
last_status() { sed -n 's/.*STATUS=//p' "$told" | tail -n 1; }
says_nothing_of_jobs() { [ "$(last_status)" = "ready: $volume is mounted at $mnt" ]; }
check "when they have ended, it says so" wait_until 30 says_nothing_of_jobs
kill -STOP "$(daemon_pid)"
check "one that hangs is ended and mounted again" wait_until 30 is_told 'READY=1' 2
check "by the watchdog" is_told '^watchdog$'
check_equal "the mount is there once" 1 "$(mounts_there)"
check "files read back" cmp "$scratch/data" "$mnt/data"
kill -TERM "$supervisor"
wait "$supervisor"
check_equal "SIGTERM ends it in good order" 0 $?
check_equal "and unmounts" 0 "$(mounts_there)"

# A daemon in the background speaks for nobody.
NOTIFY_SOCKET=@nobody-listens dedupfs "$volume" "$mnt" 2>"$scratch/said"
check_equal "a daemon in the background tells nobody" "" "$(cat "$scratch/said")"
unmount_volume
finish
