# shellcheck shell=bash
# shellcheck disable=SC2154
# For tests of volumes that are shipped to a bucket: an S3 server of the tests, and volumes in it. Sourced after lib.sh.

export no_proxy=127.0.0.1 AWS_ACCESS_KEY_ID=access AWS_SECRET_ACCESS_KEY=secret
restored=$scratch/restored
there=$scratch/there # where it is mounted

start_server() {
  /usr/bin/python3 -B "$here/../remote/s3_server.py" --port-file "$scratch/port" >>"$daemon_log" 2>&1 &
  server=$!
  wait_until 30 test -s "$scratch/port"
  endpoint=http://127.0.0.1:$(cat "$scratch/port")
}
stop_server() {
  kill "$server" 2>/dev/null
  wait "$server" 2>/dev/null
}
trap 'stop_server; clean_up' EXIT
of_remote() { # KEY: of what dedupfs-stat says of the bucket
  dedupfs-stat --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["remote"][sys.argv[1]])' "$1"
}
requests() { # METHOD: that the server got so far
  python3 -c 'import json, sys, urllib.request as web
print(json.load(web.urlopen(sys.argv[1] + "/-/counts")).get(sys.argv[2], 0))' "$endpoint" "$1"
}
# From now on, until they are set again: as in s3_server.py. set_faults FAULT...
set_faults() {
  python3 -c 'import json, sys, urllib.request as web
web.urlopen(web.Request(sys.argv[1] + "/-/faults", json.dumps(sys.argv[2:]).encode(), method="PUT"))' "$endpoint" "$@"
}
# new_shipped_volume OPTIONS [MKFS OPTION...]
new_shipped_volume() {
  local options=$1
  shift
  rm -rf "$volume"
  mkfs.dedupfs "$@" "$volume" >>"$daemon_log" 2>&1 &&
    dedupfs-remote attach --endpoint "$endpoint" "$volume" "s3://bucket/$place" >>"$daemon_log" &&
    mount_volume "$options"
}
# restore: a clone of what the bucket has, mounted.
restore() {
  give_back
  dedupfs-remote clone --endpoint "$endpoint" "s3://bucket/$place" "$restored" >>"$daemon_log" &&
    mkdir -p "$there" && dedupfs "$restored" "$there" -o "ro${1:+,$1}" 2>>"$daemon_log"
}
give_back() {
  ! is_mounted "$there" || umount.dedupfs "$there"
  rm -rf "$restored"
}
head_is_newer() { [ "$(of_remote head)" -gt "$1" ]; }
