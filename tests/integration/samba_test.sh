#!/usr/bin/env bash
# Previous versions in Samba: a client sees the snapshots of a file or folder, opens and copies them. The configuration is the one of
# docs/howto/samba.md.
. "$(dirname "$0")/lib.sh"

is_root || { skip "previous versions" "smbd needs root"; finish; }
if [ ! -e /usr/share/zoneinfo/America/New_York ]; then
  skip "previous versions" "the package tzdata is not installed"
  finish
fi
if ! command -v smbd >/dev/null || ! command -v smbclient >/dev/null; then
  skip "previous versions" "the packages samba and smbclient are not installed"
  finish
fi

export TZ=America/New_York # of the server, and of who makes snapshots; never that of UTC
new_volume
remount allow_other,snapshots=visible
mkdir -p "$mnt/share/folder"
echo first >"$mnt/share/file"
echo lost >"$mnt/share/folder/deleted"
dedupfs-snapshot create --set hourly --utc "$mnt" 2>/dev/null
# Names have whole seconds.
first_second=$EPOCHSECONDS
while [ "$EPOCHSECONDS" -eq "$first_second" ]; do read -r -t 0.1 <> <(:) || true; done
echo second >"$mnt/share/file"
rm "$mnt/share/folder/deleted"
dedupfs-snapshot create --set hourly --utc "$mnt" 2>/dev/null
echo third >"$mnt/share/file"
dedupfs-snapshot create --set nightly --utc "$mnt" 2>/dev/null # of another job: no version

port=$(free_port)
state=$scratch/samba
mkdir "$state"
{
  printf '[global]\n'
  printf '%s = %s\n' "server role" "standalone server" "map to guest" "Bad User" "guest account" nobody "smb ports" "$port" \
    "bind interfaces only" yes interfaces lo "load printers" no "disable spoolss" yes "log file" "$state/log"
  for folder in private lock state cache pid; do printf '%s dir = %s\n' "$folder" "$state"; done |
    sed -e 's/^lock dir/lock directory/; s/^state dir/state directory/; s/^cache dir/cache directory/; s/^pid dir/pid directory/'
  printf 'ncalrpc dir = %s\n' "$state/ncalrpc"
  # The share as the page has it, at the place of this mount.
  sed -n '/^ *\[backup\]/,/^ *END$/{/END$/!p}' "$here/../../docs/howto/samba.md" | sed "s#/backup\$#$mnt#; s#/backup/share#$mnt/share#"
  printf 'guest ok = yes\n'
} >"$state/smb.conf"
chmod 777 "$mnt/share"
client() { timeout 90 smbclient --port="$port" --no-pass //127.0.0.1/backup --command="$1" 2>&1; }
serve() {
  smbd --foreground --configfile="$state/smb.conf" >"$state/out" 2>&1 &
  server=$!
  wait_until 20 client ls || fail "the server answers" "$(tail -n 3 "$state/log" "$state/out" | tr '\n' ' ')"
}
end_server() {
  kill "$server" 2>/dev/null
  wait "$server" 2>/dev/null
}
trap 'end_server; clean_up' EXIT
serve

versions_of() { client "allinfo $1" | grep -o '^@GMT-[0-9.-]*' | sort; }
# When the snapshots were made, as the volume knows it, in the form of Samba. A name is taken up to a second earlier.
times_of_snapshots() {
  dedupfs-snapshot list --quick --json "$mnt" |
    python3 -c 'import json, sys, time
for snapshot in json.load(sys.stdin)["snapshots"]:
    if snapshot["name"].endswith("_hourly"): print(time.strftime("@GMT-%Y.%m.%d-%H.%M.%S", time.gmtime(snapshot["created_unix_seconds"])))'
}
is_about() { # TIME TIME: in the form of Samba, at most two seconds apart
  python3 -c 'import calendar, sys, time
a, b = (calendar.timegm(time.strptime(text, "@GMT-%Y.%m.%d-%H.%M.%S")) for text in sys.argv[1:])
sys.exit(abs(a - b) > 2)' "$@"
}
mapfile -t versions < <(versions_of file)
check_equal "a file has a version for each snapshot of the set" 2 "${#versions[@]}"
[ "${#versions[@]}" -eq 2 ] || finish
content_of() { # content_of VERSION NAME
  client "get $1\\$2 $scratch/got" >/dev/null && cat "$scratch/got"
}
check_equal "the oldest version has the first content" first "$(content_of "${versions[0]}" file)"
check_equal "the newest version has the second content" second "$(content_of "${versions[1]}" file)"
check_equal "the file itself has the third content" third "$(content_of . file)"
check_equal "a deleted file is in the old version of its folder" lost "$(content_of "${versions[0]}" 'folder\deleted')"
check_refused "and not in the newer one" 1 NOT_FOUND client "get ${versions[1]}\\folder\\deleted $scratch/got"
check_refused "nothing can be written into a version" 1 NT_STATUS client "put $scratch/got ${versions[1]}\\new"

mapfile -t made < <(times_of_snapshots)
check "the oldest version has the time at which it was made (${made[0]})" is_about "${versions[0]}" "${made[0]}"
check "and so has the newest" is_about "${versions[1]}" "${made[1]}"

# Names in local time, as dedupfs-snapshot chooses them by itself, on the same server.
end_server
dedupfs-snapshot list --quick --json "$mnt" | python3 -c 'import json, sys
for snapshot in json.load(sys.stdin)["snapshots"]: print(snapshot["name"])' | xargs dedupfs-snapshot delete "$mnt" 2>/dev/null
dedupfs-snapshot create --set hourly "$mnt" 2>/dev/null
echo fourth >"$mnt/share/file"
serve
mapfile -t made < <(times_of_snapshots)
mapfile -t versions < <(versions_of file)
check_equal "a name in local time is a version" 1 "${#versions[@]}"
check_refused "without shadow:localtime such a version is hours away" 1 '' is_about "${versions[0]:-none}" "${made[0]}"
end_server
sed -i '/^ *shadow:format/a shadow:localtime = yes' "$state/smb.conf"
serve
mapfile -t versions < <(versions_of file)
check_equal "with shadow:localtime there is one version" 1 "${#versions[@]}"
check "at the time at which it was made (${made[0]})" is_about "${versions[0]:-none}" "${made[0]}"
check_equal "and it opens" third "$(content_of "${versions[0]:-none}" file)"

finish
