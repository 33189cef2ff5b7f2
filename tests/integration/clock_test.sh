#!/usr/bin/env bash
# The clock of the machine was wrong, and is set back while the daemon runs: nothing that it does depends on it.
. "$(dirname "$0")/lib.sh"

if grep -q "__[at]san_init" "$tools/dedupfs"; then
  skip "clock that runs backwards" "sanitizers want to be loaded first"
  exit 0
fi
command -v cc >/dev/null || { skip "clock that runs backwards" "no C compiler"; exit 0; }

# To the daemon, each look at the clock is an hour earlier than the one before.
cat >"$scratch/backwards.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  static atomic_long looks;
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec -= 3600 * ++looks;
#ifdef YEARS_AHEAD
  if (clock == CLOCK_REALTIME) now->tv_sec = 2000000000;
#endif
  return result;
}
C
cc -O1 -shared -fPIC -o "$scratch/backwards.so" "$scratch/backwards.c" -ldl
cc -O1 -shared -fPIC -DYEARS_AHEAD -o "$scratch/ahead.so" "$scratch/backwards.c" -ldl
mount_backwards() { LD_PRELOAD=$scratch/backwards.so mount_volume "$@"; }
checkpoints() { find "$volume/checkpoints" -name '*.checkpoint' | sort | tr '\n' ' '; }
last_checkpoint() { checkpoints | awk '{print $NF}'; }

noise 1 3000000 >"$scratch/first"
noise 2 3000000 >"$scratch/second"
new_volume
cp "$scratch/first" "$mnt/first"
unmount_volume
before=$(last_checkpoint)
check "mount with a clock that runs backwards" mount_backwards commit=1,checkpoint=1
touch "$mnt/empty" "$mnt/later"
touch "$mnt/later"
check "its clock does run backwards" test "$mnt/later" -ot "$mnt/empty"
cp "$scratch/second" "$mnt/second"
sync -f "$mnt"
sleep 3 # more than an interval between commits
check "changes are committed in time" eval 'crash && mount_backwards checkpoint=1 && cmp "$mnt/second" "$scratch/second"'
mkdir "$mnt/folder"
check "fsync is as it was" eval 'cp "$scratch/first" "$mnt/folder/file" && commit && crash && mount_backwards && cmp "$mnt/folder/file" "$scratch/first"'
check "a scrub comes to its end" timeout 60 dedupfs-scrub --wait "$mnt"
check "unmount" unmount_volume
check "checkpoints are in order of number, not of time" test "$(last_checkpoint)" \> "$before"
check "with the right clock again" eval 'mount_volume && cmp "$mnt/first" "$scratch/first" && cmp "$mnt/folder/file" "$scratch/first"'
unmount_volume
check "nothing is wrong" fsck.dedupfs -n --verify-data "$volume"
rm -r "$volume/index"
check "a repair takes the newest checkpoint" eval 'fsck.dedupfs -y "$volume" >/dev/null; mount_volume && cmp "$mnt/folder/file" "$scratch/first"'

# A hold until a date does not end because somebody sets the clock forward.
dedupfs-snapshot create "$mnt" held 2>/dev/null
check "hold a snapshot for a day" dedupfs-snapshot hold "$mnt" held --until 24h
check "and one for two seconds" eval 'dedupfs-snapshot create "$mnt" brief && dedupfs-snapshot hold "$mnt" brief --until 2s && sleep 2.1'
check "that ends with its date" dedupfs-snapshot delete "$mnt" brief
unmount_volume
years_ahead() { LD_PRELOAD=$scratch/ahead.so "$@"; }
check_equal "the clock is years ahead" 2033 "$(years_ahead date -u +%Y)"
check_refused "the tool does not delete it" 2 "'held' is held until" years_ahead dedupfs-snapshot delete "$volume" held
check "a daemon with that clock" years_ahead mount_volume
check_refused "does not, either" 2 "'held' is held until" dedupfs-snapshot delete "$mnt" held
check_refused "nor release it" 2 "for another 24 hours" dedupfs-snapshot release "$mnt" held
unmount_volume
finish
