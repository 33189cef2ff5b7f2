#!/usr/bin/env bash
# rsync 3.5.0+ds1-0+deb12u1 (Debian 12), `rsync version 3.5.0`.
#
# `rsync -a --partial` that is interrupted keeps what it has of a file under the name of the file, as the manual says. The manual does not
# say that this half file has the permissions of the source, and 1970-01-01 00:00:00 as its time of modification. So a backup or a
# snapshot of the target has a half file under the full name, and only the date tells it from a whole one. The next run completes it.
. "$(dirname "$0")/lib.sh"

unpack rsync=3.5.0+ds1-0+deb12u1
rsync=$root/usr/bin/rsync
expect version "rsync version 3.5.0" "$("$rsync" --version | sed -nE '1s/ +protocol.*//; 1s/  +/ /gp')"
mkdir "$work/source" "$work/target"
head -c 64M /dev/urandom >"$work/source/file"
chmod 640 "$work/source/file"
touch -d '2020-01-01 00:00:00' "$work/source/file"

"$rsync" -a --partial --bwlimit=8M "$work/source/" "$work/target/" 2>/dev/null &
copy=$!
# Under another name until it is whole, or interrupted.
for ((tries = 0; $(find "$work/target" -name '.file.*' -size +8M | wc -l) == 0; tries++)); do
  [ "$tries" -lt 600 ] || cannot "nothing was copied in a minute"
  sleep 0.1
done
kill -INT "$copy"
status=0
wait "$copy" || status=$?
expect "exit status" 20 "$status"
expect "what is left" "file 1970-01-01 00:00:00 640" \
  "$(cd "$work/target" && stat -c '%n %y %a' -- * .[!.]* 2>/dev/null | sed 's/\.0* +0000//')"
[ "$(stat -c %s "$work/target/file")" -lt $((64 << 20)) ] || cannot "the copy ended first"

"$rsync" -a --partial "$work/source/" "$work/target/"
cmp "$work/source/file" "$work/target/file"
expect "after the next run" "2020-01-01 00:00:00" "$(stat -c %y "$work/target/file" | sed 's/\.0* +0000//')"
