#!/usr/bin/env bash
# fsck.dedupfs as fsck(8), boot scripts and people call it: exit status, progress, and what an interruption leaves.
# What is found and repaired is in damage_test.sh and bad_volume_test.sh.
. "$(dirname "$0")/lib.sh"

new_volume
noise 1 6000000 >"$scratch/noise"
cp "$scratch/noise" "$mnt/first"
mkdir "$mnt/folder"
for i in 1 2 3; do noise "$i" 50000 >"$mnt/folder/$i"; done
remount
noise 4 3000000 >"$mnt/second"
unmount_volume
cp -a "$volume" "$scratch/good"

fresh() { rm -rf "$volume" && cp -a "$scratch/good" "$volume"; }
# The tables that containers can replace are gone: a repair makes a new index and loses nothing.
damaged() {
  fresh
  grep -laE 'name(chunks|fingerprints)' "$volume"/index/*.sst | xargs rm
}
# And with this, inodes are lost, since no checkpoint has them.
damaged_for_good() {
  fresh
  rm -r "$volume/checkpoints"
  grep -laE 'nameinodes' "$volume"/index/*.sst | xargs rm
}
# Payload of a region in the middle of the first container: data are lost, with a repair and without.
lossy() {
  fresh
  dd if=/dev/zero of="$(find "$volume/containers" -type f | sort | head -n 1)" bs=1 seek=2000000 count=4096 conv=notrunc status=none
}
# gives NAME STATUS ARGUMENT...: fsck.dedupfs ends with that status.
gives() {
  local name=$1 expected=$2 output status=0
  shift 2
  output=$(fsck.dedupfs "$@" 2>&1) || status=$?
  check_equal "$name" "$expected" "$status"
  [ "$status" -eq "$expected" ] || tail -n 3 <<<"$output"
}
same_content() { mount_volume && cmp "$mnt/first" "$scratch/noise" && cmp "$mnt/second" <(noise 4 3000000) && unmount_volume; }

# --- exit status: 1 corrected, 4 errors left, 8 it could not be done, 16 wrong call, 32 cancelled; they add up
for mode in -n -a -p -y; do
  fresh
  gives "$mode on a sound volume" 0 $mode "$volume"
  gives "$mode with -f and --verify-data on a sound volume" 0 $mode -f --verify-data "$volume"
done
gives "no mode is -n" 0 "$volume"
damaged
gives "-n on a damaged index leaves the errors" 4 -n "$volume"
gives "and again, since it changed nothing" 4 "$volume"
gives "-a repairs what loses nothing" 1 -a "$volume"
gives "and then there is nothing to do" 0 -y "$volume"
check "all is there" same_content
damaged
gives "-p is -a" 1 -p "$volume"
damaged
gives "-y repairs it as well" 1 -y "$volume"
for mode in -a -y; do
  lossy
  gives "-n with lost data" 4 -n --verify-data "$volume"
  gives "$mode corrects what it can, and data are lost" 5 $mode --verify-data "$volume"
  gives "and stay lost" 4 $mode --verify-data "$volume"
done
damaged_for_good
gives "-a does nothing that would lose something" 4 -a "$volume"
gives "-y does" 1 -y "$volume"
gives "once" 0 -y "$volume"
gives "a volume that is not there" 8 -n "$scratch/missing"
mkdir "$scratch/empty"
gives "a folder that is no volume" 8 -n "$scratch/empty"
gives "no volume named" 16
gives "an unknown option" 16 --no-such-option "$volume"
gives "two modes at once" 16 -n -y "$volume"
gives "-C without a number" 16 -C x "$volume"
gives "help" 0 --help
fresh
mount_volume
gives "a mounted volume, to check it" 8 -n "$volume"
gives "a mounted volume, to repair it" 8 -y "$volume"
unmount_volume

# --- progress, as e2fsck -C gives it: "pass current max name"
lossy
status=0
fsck.dedupfs -y --verify-data -C 5 "$volume" >"$scratch/out" 5>"$scratch/progress" || status=$?
check_equal "a repair with progress" 5 $status
check "each line is pass, current, max and the volume" \
  eval '! grep -vqE "^[0-9]+ [0-9]+ [0-9]+ $volume\$" "$scratch/progress" && [ -s "$scratch/progress" ]'
check "passes only go up, and none goes over its maximum" awk '$1 < pass || $2 > $3 { exit 1 } { pass = $1 }' "$scratch/progress"
check "the passes of check, repair and second check are there" test "$(cut -d ' ' -f 1 "$scratch/progress" | uniq | tr '\n' ' ')" = "1 2 3 4 6 7 "
check "nothing of it is on standard output" eval '! grep -qF "$(head -n 1 "$scratch/progress")" "$scratch/out"'
fresh
gives "a descriptor that is not open: a file of the volume could get its number" 16 -y -C 9 "$volume"
check "one that nobody reads from any more is no reason to stop" eval 'fsck.dedupfs -n -C 9 "$volume" 9> >(:)'

# --- interruption. At most one line of progress fits into the pipe: a pass that nobody has read the line of is not got over by
# more than one, so the signal comes when it is meant to, or in the pass behind it.
cat >"$scratch/interrupt.py" <<'PY'
import fcntl, os, signal, subprocess, sys
pass_number, signal_name, *command = sys.argv[1:]
reading, writing = os.pipe2(os.O_DIRECT)
fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ
process = subprocess.Popen([*command[:-1], "-C", str(writing), command[-1]], pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(writing)
while line := os.read(reading, 4096):
    if int(line.split()[0]) >= int(pass_number):
        process.send_signal(getattr(signal, signal_name))
        break
else:
    sys.exit(f"ended with {process.wait()} before pass {pass_number}")
status = process.wait()
print(status)
PY
# interrupted DAMAGE PASS STATUS: of the next repair.
interrupted() {
  local signal expected
  for signal in SIGTERM SIGINT SIGKILL; do
    $1
    expected=$([ $signal = SIGKILL ] && echo -9 || echo 32)
    check_equal "$1: $signal in pass $2" "$expected" "$(python3 "$scratch/interrupt.py" "$2" $signal fsck.dedupfs -y --verify-data "$volume" 2>&1)"
    # Behind pass 4 the new index is put into its place, and the repair is done.
    [ -d "$volume/index.damaged" ] && [ -d "$volume/index" ] || gives "the next repair" "$3" -y --verify-data "$volume"
    gives "and then there is nothing to repair" $(($3 & ~1)) -y --verify-data "$volume"
  done
}
for pass in 3 4; do
  interrupted damaged $pass 1
  check "nothing is lost" same_content
  check "nothing is left over" eval '! ls -d "$volume"/index.?* 2>/dev/null'
done
for pass in 1 2 3 4; do interrupted lossy $pass 5; done
# The new index is in its place.
interrupted damaged 6 0
check "nothing is lost" same_content
fresh
check_equal "a check that is interrupted" 32 "$(python3 "$scratch/interrupt.py" 1 SIGTERM fsck.dedupfs -n --verify-data "$volume" 2>&1)"
same_tree "changes nothing" "$scratch/good" "$volume"
finish
