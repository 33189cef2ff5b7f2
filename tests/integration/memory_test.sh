#!/usr/bin/env bash
# A daemon that may have 64 MiB of memory. With small caches it works; with those it has by default the kernel may kill it, which
# is said in the log of the kernel, and costs nothing that was durable. Needs root and a cgroup with the memory controller.
. "$(dirname "$0")/lib.sh"

is_root || { skip "64 MiB of memory" "need root"; exit 0; }
if grep -qw "__[at]san_init" "$tools/dedupfs"; then
  skip "64 MiB of memory" "sanitizers take more"
  exit 0
fi

# A group with that limit, of either version of cgroups.
group=
make_group() {
  local place
  for place in $(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ || $3 == "cgroup2" { print $2 }' /proc/mounts); do
    mkdir "$place/dedupfs-test.$$" 2>/dev/null || continue
    group=$place/dedupfs-test.$$
    if echo $((64 << 20)) 2>/dev/null >"$group/memory.max" || echo $((64 << 20)) 2>/dev/null >"$group/memory.limit_in_bytes"; then
      echo 0 2>/dev/null >"$group/memory.swap.max" || echo $((64 << 20)) 2>/dev/null >"$group/memory.memsw.limit_in_bytes" || true
      return 0
    fi
    rmdir "$group"
  done
  return 1
}
make_group || { skip "64 MiB of memory" "no cgroup with a limit of memory can be made"; exit 0; }
trap 'clean_up; rmdir "$group"' EXIT

# mount_in_group [OPTIONS]: waits for the mount, as mount_volume.
# shellcheck disable=SC2120 # without options, too
mount_in_group() {
  mkdir -p "$mnt"
  (echo "$BASHPID" >"$group/cgroup.procs" && exec dedupfs "$volume" "$mnt" ${1:+-o "$1"}) 2>>"$daemon_log"
}

# Writes files and syncs them until COUNT are there or the daemon is gone; prints how many were acknowledged.
write_files() {
  python3 - "$mnt" "$1" <<'PY'
import os, random, sys
done = 0
try:
    for number in range(int(sys.argv[2])):
        fd = os.open(f"{sys.argv[1]}/{number}", os.O_WRONLY | os.O_CREAT, 0o644)
        data = random.Random(number).randbytes(4 << 20)
        for at in range(0, len(data), 1 << 20):
            os.write(fd, data[at : at + (1 << 20)])
        os.fsync(fd)
        done += 1
except OSError:
    pass
print(done)
PY
}
are_right() {
  python3 - "$mnt" "$1" <<'PY'
import random, sys
for number in range(int(sys.argv[2])):
    with open(f"{sys.argv[1]}/{number}", "rb") as file:
        assert file.read() == random.Random(number).randbytes(4 << 20), number
PY
}

mkfs.dedupfs "$volume" >/dev/null
check "mount with small caches" mount_in_group cache=16m,index_mem=16m,dirty=16m,threads=1
check_equal "it takes what is written" 60 "$(write_files 60)"
check "and gives it back" are_right 60
check "the daemon lives" daemon_pid
check "unmount" unmount_volume
check "nothing is wrong" fsck.dedupfs -n "$volume"

rm -r "$volume"
mkfs.dedupfs "$volume" >/dev/null
mount_in_group
written=$(write_files 60)
alive=$(daemon_pid >/dev/null && echo lives || echo "was killed")
[ "$alive" = lives ] || umount -l "$mnt" 2>/dev/null
[ "$alive" != lives ] || unmount_volume
check "after little memory the volume is sound" fsck.dedupfs -n "$volume"
check "what was synced is there ($written files; the daemon $alive)" eval 'mount_volume && are_right "$written"'
unmount_volume
finish
