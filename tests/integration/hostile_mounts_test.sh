#!/usr/bin/env bash
# Hostile volumes (docs/testing.md), mounted for real: read, written into, unmounted, checked and repaired. Nothing dies, hangs or
# takes too much memory, nothing outside is touched, and after a repair a check finds nothing. DEDUPFS_HOSTILE_SEEDS is how many
# (5), DEDUPFS_HOSTILE_FIRST the first seed (1).
. "$(dirname "$0")/lib.sh"

maker=$tools/../tests/hostile/hostile-volumes
first=${DEDUPFS_HOSTILE_FIRST:-1}
count=${DEDUPFS_HOSTILE_SEEDS:-5}
limit=60              # seconds that anything may take
memory=$((512 << 10)) # KiB
if grep -q "__[at]san_init" "$tools/dedupfs"; then
  limit=300
  memory=$((8 << 20))
fi
mkdir -p "$mnt" "$scratch/made"
declare -A outcomes=()

# survives NAME COMMAND...: it ends in time and by itself, whatever it says. Says nothing if so: there are many.
survives() {
  local name=$1 status=0
  shift
  timeout -s KILL "$limit" "$@" >"$scratch/said" 2>&1 || status=$?
  [ "$status" -lt 124 ] || fail "seed $seed: $name" "exit status $status: $(tail -n 3 "$scratch/said" | tr '\n' ' ')"
  return "$status"
}

# Each file gets a byte at its end and some at its begin, each folder a file; what cannot be written says so.
cat >"$scratch/use.py" <<'PY'
import os, stat, sys
top = sys.argv[1]
def read(path):
    try:
        with open(path, "rb", buffering=0) as file:
            at = 0
            for _ in range(64):
                try:
                    at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                    at += len(os.pread(file.fileno(), 1 << 17, at)) or 1 << 17
                except OSError as error:
                    if error.errno == 6: break  # no data any more
                    at += 1 << 12
    except OSError: pass
def write(path):
    try:
        with open(path, "r+b", buffering=0) as file:
            file.write(b"hostile")
            file.seek(0, os.SEEK_END)
            file.write(b".")
            os.fsync(file.fileno())
    except OSError: pass
def walk(folder, work, left=[4000]):
    try: names = os.listdir(folder)
    except OSError: return
    for name in names:
        left[0] -= 1
        if left[0] < 0: return
        path = os.path.join(folder, name)
        try: status = os.lstat(path)
        except OSError: continue
        if stat.S_ISDIR(status.st_mode): walk(path, work)
        elif stat.S_ISREG(status.st_mode): work(path)
        elif stat.S_ISLNK(status.st_mode):
            try: os.readlink(path)
            except OSError: pass
        try: [os.getxattr(path, name, follow_symlinks=False) for name in os.listxattr(path, follow_symlinks=False)]
        except OSError: pass
    if work is write:
        try:
            with open(os.path.join(folder, "new"), "xb") as file: file.write(b"new" * 9999)
        except OSError: pass
walk(top, read)
walk(os.path.join(top, ".snapshots"), read, [4000])
walk(top, write, [4000])
PY

use() {
  local pid peak
  pid=$(daemon_pid) || { fail "seed $seed: mount" "no daemon serves it"; return; }
  survives "it is read and written" python3 "$scratch/use.py" "$mnt"
  peak=$(awk '/^VmHWM/ {print $2}' "/proc/$pid/status" 2>/dev/null)
  [ -n "$peak" ] || fail "seed $seed: the daemon" "died: $(tail -n 3 "$daemon_log" | tr '\n' ' ')"
  [ "${peak:-0}" -le "$memory" ] || fail "seed $seed: memory" "$peak KiB"
  # It refuses where changes cannot be made durable, and says so.
  survives "unmount" umount.dedupfs "$mnt" || survives "forced unmount" umount.dedupfs -f "$mnt"
  ! is_mounted "$mnt" || { fail "seed $seed: unmount" "it is still mounted"; umount -l "$mnt"; }
  wait_until 20 no_daemon || fail "seed $seed: unmount" "the daemon stays"
}

try_seed() {
  local repaired=0 outcome=refused kinds=records,containers # which mostly mount
  [ $((seed % 2)) -eq 1 ] || kinds=$kinds,checkpoints,superblock,folder
  rm -rf "$volume"
  if ! "$maker" --first "$seed" --kinds "$kinds" --work "$scratch/made" --only-make "$volume" --keep >"$scratch/mutations" 2>&1; then
    fail "seed $seed" "the volume cannot be made: $(cat "$scratch/mutations")"
    return
  fi
  find "$scratch/made/outside" -printf '%p %m %T@ %s %y\n' -type f -exec cksum {} + | sort >"$scratch/outside"
  survives "mount" dedupfs "$volume" "$mnt"
  if is_mounted "$mnt"; then
    outcome=mounted
    use
  elif [ ! -s "$scratch/said" ]; then
    fail "seed $seed: mount" "it is refused without a reason"
  fi
  survives "check" fsck.dedupfs -n "$volume"
  survives "repair" fsck.dedupfs -y --verify-data "$volume" || repaired=$?
  if grep -aq "^fsck.dedupfs: " "$scratch/said"; then
    outcome+=", not repaired" # and it said why: the index of another volume, no superblock, ...
  elif [ "$repaired" -lt 8 ]; then
    outcome+=", repaired"
    survives "check after the repair" fsck.dedupfs -n --verify-data "$volume"
    ! grep -aq "^error: " "$scratch/said" || fail "seed $seed: the repair" "left $(grep -am1 "^error: " "$scratch/said")"
  else
    outcome+=", no volume any more" # and it said why
  fi
  find "$scratch/made/outside" -printf '%p %m %T@ %s %y\n' -type f -exec cksum {} + | sort >"$scratch/outside.now"
  cmp -s "$scratch/outside" "$scratch/outside.now" || fail "seed $seed" "something outside was touched"
  outcomes[$outcome]=$((${outcomes[$outcome]:-0} + 1))
}

before=$failures
for ((seed = first; seed < first + count; ++seed)); do
  was=$failures
  try_seed
  [ "$failures" -eq "$was" ] || sed 's/^/    /' "$scratch/mutations"
done
for outcome in "${!outcomes[@]}"; do echo "${outcomes[$outcome]} $outcome"; done
[ "$failures" -gt "$before" ] || pass "seeds $first to $((first + count - 1)) are used and repaired without a finding"
finish
