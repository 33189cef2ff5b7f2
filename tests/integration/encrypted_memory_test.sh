#!/usr/bin/env bash
# Where the passphrase and the master key of an encrypted volume are while it is mounted: the passphrase nowhere, the master key in
# locked memory. Neither is in an environment, an argument or a core file.
. "$(dirname "$0")/lib.sh"

# At random, so that nothing else has a piece of it. More than a block of what hashes it, too.
key=$scratch/key
python3 -c 'import secrets; print(secrets.token_hex(100))' >"$key"
check "mkfs" mkfs.dedupfs --encrypt --key-file "$key" --kdf-memory 8m "$volume"
mkdir "$mnt"

secrets() { python3 "$here/secrets_in_memory.py" "$1" "$key" "$volume" | sort -u; }
# Looks at the end of the process, when all its code has run. Prints what it found to the file at_exit.
look_at_exit() {
  python3 "$here/secrets_in_memory.py" --at-exit "$1" "$key" "$volume" >"$scratch/at_exit" 2>&1 &
  looking=$!
  wait_until 20 grep -q waiting "$scratch/at_exit"
}
# Of a process and all its children: no piece of the passphrase, no name of a file and none of its content is in their arguments and
# environments.
descendants() {
  local pid
  echo "$1"
  for pid in $(cat /proc/"$1"/task/*/children); do descendants "$pid"; done
}
tells_nothing() {
  local pid piece
  piece=$(cut -c 1-20 "$key")
  for pid in $(descendants "$1"); do
    ! grep -qaF -e "$piece" -e secret-name -e secret-content "/proc/$pid/cmdline" "/proc/$pid/environ" || return 1
  done
}
use_it() {
  mkdir -p "$mnt/$1"
  for number in $(seq 50); do echo "secret-content $number $RANDOM" >"$mnt/$1/secret-name$number"; done
  noise "$1" 3000000 >"$mnt/noise"
  commit
  ln -f "$mnt/noise" "$mnt/again"
  cmp "$mnt/noise" "$mnt/again"
}
limit_of_core_files() { awk '/^Max core file size/ {print $5, $6}' "/proc/$1/limits"; }

# judge SOURCE: the volume is mounted.
judge() {
  local pid
  pid=$(daemon_pid) || { fail "$1: it is mounted" "no daemon"; return; }
  if [ "$can_look" = yes ]; then
    check_equal "$1: once it is mounted the passphrase is gone, and the master key is locked" "master key locked" "$(secrets "$pid")"
    use_it "$1"
    check_equal "so it is when it was used" "master key locked" "$(secrets "$pid")"
  fi
  check "the passphrase is in no argument and no environment" tells_nothing "$pid"
  check "memory is locked" test "$(awk '$1 == "VmLck:" {print $2}' "/proc/$pid/status")" -gt 0
  check_equal "it leaves no core file" "0 0" "$(limit_of_core_files "$pid")"
  check_equal "nobody else of its user may look into its memory" 0 "$(stat -c %u "/proc/$pid/mem")"
  [ "$can_look" = no ] || look_at_exit "$pid"
  unmount_volume
  if [ "$can_look" = yes ]; then
    wait "$looking"
    check_equal "when it ends, neither passphrase nor master key is in its memory" "0 waiting" "$? $(cat "$scratch/at_exit")"
  fi
  check "after the unmount the process is gone" wait_until 60 test ! -e "/proc/$pid"
}

# A command that printed the passphrase and has not ended: the program has it, in locked memory. So the search does find it.
mkfifo "$scratch/go"
slow_command="ls -l /proc/self/fd >$scratch/files-of-command; cat $key; cat $scratch/go"
dedupfs -o "passphrase_command=$slow_command" "$volume" "$mnt" 2>>"$daemon_log" &
asking=$!
can_look=yes
has_it() { [ "$(secrets "$asking")" = "passphrase locked" ]; }
secrets "$$" >/dev/null
if [ "${PIPESTATUS[0]}" -eq 77 ]; then
  can_look=no
  skip "while the command runs, the passphrase is in locked memory" "nobody may look into the memory of others here"
  wait_until 20 pgrep -P "$asking"
else
  check "while the command runs, the passphrase is in locked memory" wait_until 20 has_it
fi
check "and in no argument and no environment, also of the command" tells_nothing "$asking"
check "the command has no file of the volume and of the daemon open" eval \
  'grep -q " 0 -> " "$scratch/files-of-command" && ! grep -qF "$volume" "$scratch/files-of-command"'
ls -l /proc/self/fd >"$scratch/files-of-caller"
check_equal "nor any other that the caller does not have" "$(grep -c -- '->' "$scratch/files-of-caller")" \
  "$(grep -c -- '->' "$scratch/files-of-command")"
check "the command is one of those" test "$(descendants "$asking" | wc -l)" -gt 1
: >"$scratch/go"
wait "$asking"
check_equal "then it is mounted" 0 "$?"
judge "passphrase command"

# The others, in the background and in the foreground.
dedupfs -o "key_file=$key" "$volume" "$mnt"
judge "key file"
dedupfs --foreground -o "key_file=$key" "$volume" "$mnt" 2>>"$daemon_log" &
wait_until 20 is_mounted "$mnt"
judge "key file, in the foreground"
wait $!

mkdir "$scratch/credentials"
cp "$key" "$scratch/credentials/dedupfs-key"
CREDENTIALS_DIRECTORY=$scratch/credentials dedupfs --foreground "$volume" "$mnt" 2>>"$daemon_log" &
wait_until 20 is_mounted "$mnt"
judge "credential"
wait $!

check "at a terminal" python3 "$here/at_terminal.py" "$key" dedupfs "$volume" "$mnt"
judge "terminal"

in_keyring() { keyctl session - sh -c 'keyctl padd user dedupfs-test @s <"$1" >/dev/null && shift && exec "$@"' sh "$key" "$@"; }
if command -v keyctl >/dev/null && in_keyring true 2>/dev/null; then
  in_keyring dedupfs -o keyring=dedupfs-test "$volume" "$mnt"
  judge "keyring"
else
  skip "keyring" "no keyctl, or no keyrings here"
fi

# A second guess does not keep the first: the passphrase of another slot opens, after those before it were tried.
cp "$key" "$scratch/first"
python3 -c 'import secrets; print(secrets.token_hex(100))' >"$scratch/second"
check "another passphrase" dedupfs-key add --key-file "$key" --new-key-file "$scratch/second" --kdf-memory 8m "$volume"
cp "$scratch/second" "$key"
dedupfs -o "key_file=$key" "$volume" "$mnt"
judge "another slot"

# aborted VOLUME OPTIONS: how a mount ends by SIGABRT, where core files are let. Prints "core" if there was one.
aborted() {
  mkdir -p "$scratch/cores"
  (cd "$scratch/cores" && python3 - "$1" "$mnt" "$2" <<'PY'
import os, resource, signal, subprocess, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
volume, mount, options = sys.argv[1:]
daemon = subprocess.Popen(["dedupfs", "--foreground", "-o", options, volume, mount], stderr=subprocess.DEVNULL)
deadline = time.monotonic() + 20
while not os.path.ismount(mount) and time.monotonic() < deadline:
    time.sleep(0.05)
os.kill(daemon.pid, signal.SIGABRT)
status = os.waitpid(daemon.pid, 0)[1]
print(os.WTERMSIG(status), "core" if os.WCOREDUMP(status) else "no core")
PY
  )
  find "$scratch/cores" -type f | grep -c .
  fusermount3 -u -z "$mnt" 2>/dev/null || umount -l "$mnt"
  rm -rf "$scratch/cores"
}
mkfs.dedupfs "$scratch/plain" >/dev/null
if [[ $(aborted "$scratch/plain" core_dump) == "6 core"* ]]; then
  check_equal "a daemon that is aborted leaves no core file" $'6 no core\n0' "$(aborted "$volume" "key_file=$key")"
else
  skip "a daemon that is aborted leaves no core file" "no program leaves one here"
fi
finish
