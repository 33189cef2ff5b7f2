#!/usr/bin/env bash
# Memory of the daemon: what users do cannot take it beyond the caps, and without any left requests fail, not the mount. See
# docs/memory.md. DEDUPFS_MEMORY_LOAD=full drives each row of the table with the full load, which takes some minutes.
. "$(dirname "$0")/lib.sh"

if grep -qw "__[at]san_init" "$tools/dedupfs"; then
  skip "memory of the daemon" "sanitizers take more"
  exit 0
fi

# Memory that is allocated and not used counts as well: as Meson has it, whoever runs this.
export MALLOC_PERTURB_=${MALLOC_PERTURB_:-195}

caps_mib=$((64 + 32 + 32))
beside_mib=400 # docs/memory.md
peak_mib() { awk '$1 == "VmHWM:" { print int($2 / 1024) }' "/proc/$(daemon_pid)/status"; }

# drive KIND SIZE FULL_SIZE: one kind of load on a new volume with small caps, on as many threads on any machine, and with 4 GiB of
# address space, in which an uncaught std::bad_alloc once ended the daemon.
drive() {
  local size=$2 what peak
  [ "${DEDUPFS_MEMORY_LOAD:-}" != full ] || size=$3
  rm -rf "$volume"
  mkfs.dedupfs "$volume" >/dev/null
  mkdir -p "$mnt"
  MALLOC_ARENA_MAX=4 prlimit --as=$((4 << 30)) "$tools/dedupfs" "$volume" "$mnt" \
    -o cache=64m,index_mem=32m,dirty=32m,threads=4 2>>"$daemon_log" || { fail "$1" "cannot mount"; return; }
  if what=$(python3 "$here/memory_load.py" "$1" "$mnt" "$size" 2>&1); then pass "$1: $what"; else fail "$1" "$what"; fi
  peak=$(peak_mib)
  if [ "${peak:-9999}" -le $((caps_mib + beside_mib)) ]; then
    pass "$1: the peak of $peak MiB is within $caps_mib and $beside_mib MiB"
  else
    fail "$1: peak" "$peak MiB, expected at most $caps_mib and $beside_mib MiB"
  fi
  check "$1: unmount" unmount_volume
}
drive scattered 6 60
drive clones 64 2048
drive xattrs 10000 170000
drive orphans 4000 20000
drive punches 40 400

# Under a limit of address space, requests fail when there is none left. The mount lives on, and works when there is memory again.
rm -rf "$volume"
mkfs.dedupfs "$volume" >/dev/null
mkdir -p "$mnt"
check "mount under a limit of address space" "$tools/dedupfs" "$volume" "$mnt"
pid=$(daemon_pid)
prlimit --pid "$pid" --as=$((($(awk '{ print $1 }' "/proc/$pid/statm") * 4 + (48 << 10)) << 10)): # the soft limit
python3 "$here/memory_load.py" scattered "$mnt" 5 >/dev/null 2>&1
check_equal "the daemon survives it" "$pid" "$(daemon_pid)"
prlimit --pid "$pid" --as="$(prlimit --pid "$pid" --as --noheadings --output HARD):"
check "and works when there is memory" eval 'noise 1 3000000 >"$mnt/after" && sync "$mnt/after" && noise 1 3000000 | cmp - "$mnt/after"'
unmount_volume >/dev/null 2>&1
check "nothing is wrong" fsck.dedupfs -n --verify-data "$volume"
rm -rf "$volume"

# A daemon that may have 64 MiB of memory. With small caches it works; with those it has by default the kernel may kill it, which
# is said in the log of the kernel, and costs nothing that was durable. Needs root and a cgroup with the memory controller.
is_root || { skip "64 MiB of memory" "need root"; finish; }
unset MALLOC_PERTURB_ # no user has it

# Files of a tmpfs are memory of the group. The volume is to be on a disk.
on_tmpfs() { [ "$(stat -f -c %T "$1")" = tmpfs ]; }
disk_scratch=
if on_tmpfs "$scratch"; then
  on_tmpfs /var/tmp && { skip "64 MiB of memory" "both $scratch and /var/tmp are in memory"; finish; }
  disk_scratch=$(realpath "$(mktemp -d /var/tmp/dedupfs-test.XXXXXX)")
  volume=$disk_scratch/volume
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
make_group || { skip "64 MiB of memory" "no cgroup with a limit of memory can be made"; finish; }
trap 'clean_up; rmdir "$group"; [ -z "$disk_scratch" ] || rm -rf "$disk_scratch"' EXIT

# How often the kernel ended a process because of the limit.
kills_in_group() { cat "$group/memory.events" "$group/memory.oom_control" 2>/dev/null | awk '$1 == "oom_kill" { print $2 }'; }

# limit_group MIB
limit_group() {
  echo $(($1 << 20)) 2>/dev/null >"$group/memory.max" || echo $(($1 << 20)) 2>/dev/null >"$group/memory.limit_in_bytes" ||
    { echo $(($1 << 20)) >"$group/memory.memsw.limit_in_bytes" && echo $(($1 << 20)) >"$group/memory.limit_in_bytes"; }
}

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
check_equal "the kernel ended nobody for want of memory" 0 "$(kills_in_group)"
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

# The whole path with the memory of a small machine: new data, near-duplicates, reads, names, a snapshot, a reclaim.
rm -r "$volume"
mkfs.dedupfs "$volume" >/dev/null
limit_group 1024
check "mount in a group of 1 GiB" mount_in_group
pid=$(daemon_pid)
python3 - "$mnt" <<'PY'
import os, random, sys
base = bytearray(random.Random(1).randbytes(48 << 20))
for generation in range(3):
    for at in range(0, len(base), 1 << 20):
        base[at] ^= 1
    with open(f"{sys.argv[1]}/{generation}", "wb") as file:
        file.write(base)
        os.fsync(file.fileno())
os.mkdir(f"{sys.argv[1]}/names")
for number in range(10000):
    with open(f"{sys.argv[1]}/names/{number}", "wb") as file:
        file.write(b"x" * 100)
PY
check "a snapshot" dedupfs-snapshot create "$mnt" one
check "everything is read" eval 'cat "$mnt"/0 "$mnt"/1 "$mnt"/2 >/dev/null'
check "two generations and all names go" rm -r "$mnt/0" "$mnt/1" "$mnt/names"
check "the snapshot goes" dedupfs-snapshot delete "$mnt" one
check "a reclaim" eval 'dedupfs-gc --status --wait "$mnt" >/dev/null 2>&1; dedupfs-gc "$mnt" >/dev/null'
peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$pid/status")
check "the daemon took less than 400 MiB ($peak)" test "$peak" -lt 400
check "unmount" unmount_volume
check "nothing is wrong" fsck.dedupfs -n "$volume"
finish
