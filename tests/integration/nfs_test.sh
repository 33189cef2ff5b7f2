#!/usr/bin/env bash
# What an NFS server needs of a mount: file handles that stay the same over a remount and a crash, are never those of another file,
# and the line for /etc/exports. No server of the kernel is needed: the same system calls are made here. Then a server in user space,
# with the export of docs/howto/nfs.md.
. "$(dirname "$0")/lib.sh"

is_root || { skip "file handles" "only root may open them"; finish; }

handles() { python3 "$here/file_handles.py" "$@"; }

new_volume
mkdir -p "$mnt/folder/below"
echo one >"$mnt/folder/below/file"
echo two >"$mnt/top"
echo gone >"$mnt/deleted"
dedupfs-snapshot create "$mnt" before 2>/dev/null
remount allow_other,snapshots=visible
if ! handles save "$scratch/handles" "$mnt/folder/below/file" "$mnt/top" "$mnt/folder" "$mnt" "$mnt/.snapshots/before/top" "$mnt/deleted" 2>"$scratch/why"; then
  skip "file handles" "this kernel gives none: $(tail -n 1 "$scratch/why")"
  finish
fi
number() { stat -c %i "$mnt/$1"; }
mv "$mnt/folder/below/file" "$mnt/moved"
expected() {
  printf '%s\n' "folder/below/file $(number moved) one" "top $(number top) two" "folder $(number folder) ['below']" \
    ". $(number .) $(python3 -c 'import os, sys; print(os.listdir(sys.argv[1]))' "$mnt")" \
    ".snapshots/before/top $(number .snapshots/before/top) two"
}
check_equal "handles open the files that they were taken of, also a moved one" "$(expected)" "$(handles check "$scratch/handles" "$mnt" | grep -v '^deleted')"
# The kernel has forgotten all of them then, and asks the daemon by number.
echo 2 >/proc/sys/vm/drop_caches
check_equal "also when the kernel has dropped its caches" "$(expected)" "$(handles check "$scratch/handles" "$mnt" | grep -v '^deleted')"
rm "$mnt/deleted"
echo new >"$mnt/new"
remount allow_other,snapshots=visible
check_equal "after a remount, too" "$(expected)" "$(handles check "$scratch/handles" "$mnt" | grep -v '^deleted')"
check_equal "that of a deleted file is stale, not another file" "deleted Stale file handle" \
  "$(handles check "$scratch/handles" "$mnt" | grep '^deleted')"
commit
crash
mount_volume allow_other,snapshots=visible
check_equal "after a crash, too" "$(expected)" "$(handles check "$scratch/handles" "$mnt" | grep -v '^deleted')"

# The line is the same for each mount of the volume. exportfs reads it if the tools of an NFS server are here.
line=$(dedupfs-stat --json "$mnt" | python3 -c 'import json, sys; print(json.load(sys.stdin)["nfs_export"])')
check_equal "the line names mount point and volume" "$mnt *(rw,no_subtree_check,fsid=$(stat_of uuid))" "$line"
if command -v exportfs >/dev/null; then
  mkdir -p "$scratch/exports.d"
  echo "$line" >"$scratch/exports.d/dedupfs.exports"
  # In a mount namespace of its own: nothing on this machine is exported.
  exported=$(unshare -m bash -c '
    mount --bind "$1" /etc/exports.d 2>/dev/null || { mkdir -p /etc/exports.d && mount --bind "$1" /etc/exports.d; }
    mount -t tmpfs none /var/lib/nfs && touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    exportfs -r 2>&1
    cat /var/lib/nfs/etab' _ "$scratch/exports.d" 2>&1)
  check "exportfs accepts it" grep -q "^$mnt.*fsid=$(stat_of uuid)" <<<"$exported"
else
  skip "exportfs accepts it" "the package nfs-kernel-server is not installed"
fi

if ! command -v ganesha.nfsd >/dev/null || ! command -v nfs-cat >/dev/null; then
  skip "an NFS server in user space" "the packages nfs-ganesha-vfs and libnfs-utils are not installed"
  finish
fi
port=$(free_port)
mkdir "$scratch/recovery"
{
  echo "NFS_CORE_PARAM { Protocols = 4; NFS_Port = $port; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false; }"
  echo "NFSV4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = $scratch/recovery; }"
  # The export as the page has it, at the place of this mount. This client is root.
  sed -n '/^ *EXPORT {/,/```/{/```/!p}' "$here/../../docs/howto/nfs.md" | sed "s#Path = /backup#Path = $mnt#; s/Root_Squash/No_Root_Squash/"
} >"$scratch/ganesha.conf"
server=
start_server() {
  ganesha.nfsd -F -f "$scratch/ganesha.conf" -L "$scratch/ganesha.log" -p "$scratch/ganesha.pid" >"$scratch/ganesha.out" 2>&1 &
  server=$!
  wait_until 30 nfs ls ""
}
stop_server() {
  [ -n "$server" ] || return 0
  kill "$server"
  wait "$server"
  server=
}
trap 'stop_server 2>/dev/null; clean_up' EXIT
url() { echo "nfs://127.0.0.1/backup/$1?version=4&nfsport=$port"; }
nfs() { timeout 90 "nfs-$1" "$(url "$2")"; }

start_server || fail "the server answers" "$(grep -E 'CRIT|FATAL' "$scratch/ganesha.log" | tail -n 3)"
check_equal "a client reads a file" two "$(nfs cat top)"
check_equal "and one in a snapshot" two "$(nfs cat .snapshots/before/top)"
check "it lists a folder" eval 'nfs ls folder | grep -q below'
# nfs-cp 4.0 cannot write more than some KB by NFS 4, on any filesystem.
noise 1 1400 >"$scratch/noise"
check "it writes a file" timeout 90 nfs-cp "$scratch/noise" "$(url written)"
check "with its content" cmp "$scratch/noise" "$mnt/written"
stop_server
check "the volume is mounted again" remount allow_other,snapshots=visible
start_server || fail "the server answers again" "$(grep -E 'CRIT|FATAL' "$scratch/ganesha.log" | tail -n 3)"
check "the client reads what it wrote" eval 'nfs cat written | cmp - "$scratch/noise"'
stop_server

finish
