#!/usr/bin/env bash
# Previous versions in Samba: a client sees the snapshots of a file or folder, opens and copies them. The configuration is the one of
# docs/howto/samba.md.
. "$(dirname "$0")/lib.sh"

is_root || { skip "previous versions" "smbd needs root"; finish; }
if ! command -v smbd >/dev/null || ! command -v smbclient >/dev/null; then
  skip "previous versions" "the packages samba and smbclient are not installed"
  finish
fi

new_volume
remount allow_other,snapshots=visible
mkdir -p "$mnt/share/folder"
echo first >"$mnt/share/file"
echo lost >"$mnt/share/folder/deleted"
dedupfs-snapshot create "$mnt" "$(date --utc +%Y-%m-%d_%H-%M-%S)" >/dev/null
# Names have whole seconds.
first_second=$EPOCHSECONDS
while [ "$EPOCHSECONDS" -eq "$first_second" ]; do read -r -t 0.1 <> <(:) || true; done
echo second >"$mnt/share/file"
rm "$mnt/share/folder/deleted"
dedupfs-snapshot create "$mnt" "$(date --utc +%Y-%m-%d_%H-%M-%S)" >/dev/null
echo third >"$mnt/share/file"

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
  sed -n '/^ *\[backup\]/,/```/{/```/!p}' "$here/../../docs/howto/samba.md" | sed "s#/backup\$#$mnt#; s#/backup/share#$mnt/share#"
  printf 'guest ok = yes\n'
} >"$state/smb.conf"
chmod 777 "$mnt/share"
smbd --foreground --configfile="$state/smb.conf" >"$state/out" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; clean_up' EXIT
client() { timeout 30 smbclient --port="$port" --no-pass //127.0.0.1/backup --command="$1" 2>&1; }
wait_until 20 client ls || fail "the server answers" "$(tail -n 3 "$state/log" "$state/out" | tr '\n' ' ')"

mapfile -t versions < <(client "allinfo file" | grep -o '^@GMT-[0-9.-]*' | sort)
check_equal "a file has a version for each snapshot" 2 "${#versions[@]}"
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

finish
