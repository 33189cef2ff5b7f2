# Helpers of the integration tests: volumes on real mounts, and checks that print one line each. To be sourced.
# shellcheck shell=bash
#
# A test runs to its end whatever fails, so errexit is off; `finish` gives the exit status. Everything lives below $scratch, and
# the exit trap unmounts and removes all of it, also after a failure or a signal.
# DEDUPFS_TOOLS is the folder with the programs under test (Meson sets it).

set -uo pipefail

# Each test has a mount namespace of its own. Without, a namespace that another test makes meanwhile has a copy of this test's mounts, and their daemons
# live as long as that.
if [ -z "${IN_OWN_NAMESPACE:-}" ] && [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
  IN_OWN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${DEDUPFS_TOOLS:-$here/../../build/tools}
# shellcheck source=checks.sh
. "$here/checks.sh"

[ -c /dev/fuse ] || { echo "FAIL environment: /dev/fuse is missing"; exit 1; }
[ -x "$tools/dedupfs" ] || { echo "FAIL environment: $tools/dedupfs is missing"; exit 1; }

# As the kernel names it, so that a path here and one in /proc/mounts are equal.
scratch=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/dedupfs-test.XXXXXX")")
chmod 755 "$scratch"
volume=$scratch/volume
mnt=$scratch/mnt
daemon_log=$scratch/daemon.log

# Programs whose --json is checked against docs/schemas come first (checked_json.sh), then all programs under test.
export DEDUPFS_TOOLS=$tools DEDUPFS_JSON_CONTRACT=$here/../json_contract.py DEDUPFS_JSON_FINDINGS=$scratch/json_findings
mkdir "$scratch/checked"
for program in "$tools"/dedupfs-* "$tools"/{fsck,mkfs,umount}.dedupfs; do
  [ ! -x "$program" ] || [ -d "$program" ] || ln -s "$here/checked_json.sh" "$scratch/checked/${program##*/}"
done
: >"$DEDUPFS_JSON_FINDINGS"
chmod 666 "$DEDUPFS_JSON_FINDINGS" # other users run programs, too
PATH=$scratch/checked:$tools:/usr/bin:$PATH:/usr/sbin:/sbin # /usr/bin early: the Python that the packages for it belong to

is_root() { [ "$(id -u)" -eq 0 ]; }
# as_nobody COMMAND...: as another user without groups. Root only, as the next one.
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
as_nobody() { "${nobody[@]}" "$@"; }
# lend_to_nobody: sets `user` to the words before a program under test that nobody runs.
lend_to_nobody() {
  user=("${nobody[@]}" env "PATH=$PATH")
  ! "${user[@]}" test -x "$tools/dedupfs" || return 0
  mkdir "$scratch/tools" # the build folder is in a place that nobody may enter
  cp "$tools"/*dedupfs* "$scratch/tools"
  user=("${nobody[@]}" env "PATH=$scratch/tools:$PATH")
}
is_mounted() { grep -q " $1 fuse" /proc/mounts; }
mounts_there() { grep -c " $mnt fuse" /proc/mounts; } # one may lie over another

# daemon_pid [VOLUME]: the process that serves the volume; fails when there is none.
daemon_pid() {
  local process words
  for process in /proc/[0-9]*; do
    mapfile -d '' -t words 2>/dev/null <"$process/cmdline" || continue
    [[ ${words[0]:-} =~ (^|[/.])dedupfs$ ]] || continue # or mount.dedupfs
    [[ " ${words[*]:1} " == *" ${1:-$volume} "* ]] || continue
    echo "${process#/proc/}"
    return 0
  done
  return 1
}
no_daemon() { ! daemon_pid "$@" >/dev/null; }

# mount_volume [OPTIONS]: $volume at $mnt.
mount_volume() {
  mkdir -p "$mnt"
  dedupfs "$volume" "$mnt" ${1:+-o "$1"} 2>>"$daemon_log"
}
unmount_volume() { umount.dedupfs "$mnt"; }
remount() { unmount_volume && mount_volume "$@"; }

# new_volume [MKFS OPTION...]: an empty volume, mounted; ends the test when that fails. Root mounts it for everybody.
new_volume() {
  rm -rf "$volume"
  if ! mkfs.dedupfs "$@" "$volume" >>"$daemon_log" 2>&1 || ! mount_volume "$(is_root && echo allow_other)"; then
    fail "mount" "cannot make and mount a volume: $(tail -n 3 "$daemon_log" | tr '\n' ' ')"
    exit 1
  fi
}

# crash: kill -9, and the mount that is left behind cleared away.
crash() {
  local pid
  pid=$(daemon_pid) || return 1
  kill -9 "$pid"
  wait_until 60 no_daemon
  fusermount3 -u -z "$mnt" 2>/dev/null || umount -l "$mnt"
}

# free_port: of TCP, on this machine.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# commit: everything written so far becomes durable. fsync of a directory does it; syncfs alone cannot, since Linux does not
# pass it on to FUSE filesystems: it only brings what is in the page cache to the daemon.
commit() { sync -f "$mnt" && sync "$mnt"; }

# stat_of KEY: one number of dedupfs-stat, of the mount when there is one.
stat_of() {
  local target=$volume
  ! is_mounted "$mnt" || target=$mnt
  dedupfs-stat --json "$target" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# same_tree NAME A B: names, kinds, contents, modes, owners, times, links and extended attributes are equal.
same_tree() {
  local difference
  if difference=$(diff <(python3 "$here/manifest.py" "$2") <(python3 "$here/manifest.py" "$3") 2>&1); then
    pass "$1"
  else
    fail "$1" "$(head -n 4 <<<"$difference" | tr '\n' ' ')"
  fi
}

# noise SEED BYTES: bytes that do not compress, the same for the same seed.
noise() {
  python3 - "$1" "$2" <<'PY'
import random, sys
source, left = random.Random(sys.argv[1]), int(sys.argv[2])
while left:
    part = min(left, 1 << 20)
    sys.stdout.buffer.write(source.randbytes(part))
    left -= part
PY
}

# near_duplicate FROM FIRST STEP: the bytes of the file, each STEP-th from FIRST on another one.
near_duplicate() {
  python3 - "$@" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(int(sys.argv[2]), len(data), int(sys.argv[3])):
    data[at] ^= 1
sys.stdout.buffer.write(data)
PY
}

check_json() { check_equal "JSON is as its schemas say" "" "$(head -n 20 "$DEDUPFS_JSON_FINDINGS")"; }
finish() {
  check_json
  exit $((failures > 0))
}

clean_up() {
  local place device
  for place in $(awk '{print $2}' /proc/mounts | grep -F -- "$scratch" | tac); do
    fusermount3 -u -z "$place" 2>/dev/null || umount -l "$place"
  done
  wait_until 20 no_daemon || kill -9 "$(daemon_pid)"
  if is_root; then
    for device in $(losetup -n -O NAME,BACK-FILE | awk -v s="$scratch" 'index($2, s) == 1 {print $1}'); do
      losetup -d "$device"
    done
  fi
  if [ "$failures" -gt 0 ] && [ -s "$daemon_log" ]; then tail -n 20 "$daemon_log" >&2; fi
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
