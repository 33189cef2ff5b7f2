#!/usr/bin/env bash
# Quotas of trees for those who live with them, on a mount: writes beyond the limit fail at once, df shows what is left, mv and rsync
# cope, and the sums are right after a crash and a repair.
. "$(dirname "$0")/lib.sh"

field() { dedupfs-quota show --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["quotas"][0][sys.argv[1]])' "$2"; }

new_volume
mkdir -p "$mnt/alice/deep" "$mnt/bob"
noise 1 600000 >"$mnt/alice/deep/there before"
check "a directory gets a limit" dedupfs-quota set "$mnt/alice" --logical 1m --files 100
check_equal "what was in it counts" 600000 "$(field "$mnt/alice" logical_bytes)"
check_equal "so do its files and folders" 3 "$(field "$mnt/alice/deep" files)"
check_refused "a write beyond the limit fails, of root, too" 1 'disk quota exceeded' dd if=/dev/urandom of="$mnt/alice/big" bs=64k count=16 status=none
check "others go on" eval 'noise 2 2000000 >"$mnt/bob/file"'
check "what is there can be overwritten" dd if=/dev/urandom of="$mnt/alice/deep/there before" bs=100000 count=6 conv=notrunc status=none
check_refused "a reservation fails" 1 'disk quota exceeded' fallocate -l 2m "$mnt/alice/reserved"
check "a sparse file takes nothing" truncate -s 1g "$mnt/alice/sparse"
rm -f "$mnt/alice/big" "$mnt/alice/reserved"
check_equal "df shows the limit" 1048576 "$(df -B1 --output=size "$mnt/alice" | tail -1 | tr -d ' ')"
check_equal "and the number of files" 100 "$(df --output=itotal "$mnt/alice" | tail -1 | tr -d ' ')"
check "elsewhere it shows the volume" test "$(df -B1 --output=size "$mnt/bob" | tail -1)" -gt 1048576
check "deleted files give their room back at once" eval 'for i in 1 2 3; do noise "$i" 440000 >"$mnt/alice/again" && rm "$mnt/alice/again"; done'

noise 3 100000 >"$mnt/bob/goes"
check_refused "a rename into the tree crosses devices" 1 'cross-device' python3 -c 'import os, sys; os.rename(sys.argv[1], sys.argv[2])' "$mnt/bob/goes" "$mnt/alice/goes"
check "mv copies" mv "$mnt/bob/goes" "$mnt/alice/goes"
check_refused "a hard link does not leave the tree" 1 'cross-device' ln "$mnt/alice/goes" "$mnt/bob/link"
check "rsync brings what fits" rsync -a "$mnt/alice/deep/" "$mnt/bob/copy"
check_refused "and says what does not" 11 'disk quota exceeded' rsync -a "$mnt/bob/" "$mnt/alice/bob"
check_equal "the tree has not grown beyond" 1 "$((1048576 >= $(field "$mnt/alice" logical_bytes)))"
rm -r "$mnt/alice/bob"

check_refused "quotas do not nest" 2 'do not nest' dedupfs-quota set "$mnt/alice/deep" --logical 1m
check_refused "nor from above" 2 'do not nest' dedupfs-quota set "$mnt" --logical 1g
check_refused "a limit must be given" 1 'give a limit' dedupfs-quota set "$mnt/bob"
check_refused "and be a size" 1 'is not a size' dedupfs-quota set "$mnt/bob" --logical much
check_refused "a directory without a quota shows none" 2 'no quota holds' dedupfs-quota show "$mnt/bob"
check_refused "and has none to remove" 2 'has no quota' dedupfs-quota remove "$mnt/bob"
check "stored bytes are limited" dedupfs-quota set "$mnt/bob" --stored 4m
check "copies of what is there take nothing" eval 'for i in 1 2 3 4; do cp --reflink=never "$mnt/bob/file" "$mnt/bob/copy$i" || exit 1; done'
check_refused "new data do" 1 'disk quota exceeded' eval 'noise 4 6000000 >"$mnt/bob/new"'
check_equal "both are listed with their paths" "$(printf '%s\n' "$mnt/alice" "$mnt/bob")" \
  "$(dedupfs-quota list --json "$mnt" | python3 -c 'import json, sys; print(*sorted(q["path"] for q in json.load(sys.stdin)["quotas"]), sep="\n")')"
check "dedupfs-stat shows them" eval 'dedupfs-stat "$mnt" | grep -q "^Quota of"'
check "so do the metrics" eval 'dedupfs-stat "$mnt" --prometheus - | grep "dedupfs_quota_logical_limit_bytes{.*directory=\"alice\"} 1048576"'

used=$(field "$mnt/alice" logical_bytes)
check "after a crash of the daemon" eval 'dedupfs-sync "$mnt" && crash && mount_volume'
check_equal "the sum is what it was" "$used" "$(field "$mnt/alice" logical_bytes)"
unmount_volume
check "fsck finds nothing" fsck.dedupfs "$volume"
finish
