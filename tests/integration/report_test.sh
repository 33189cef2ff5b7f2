#!/usr/bin/env bash
# The history that a mount keeps, and the page of dedupfs-report in headless Chromium: light, dark, and as wide as a phone.
. "$(dirname "$0")/lib.sh"

# samples TARGET: how many there are.
samples() { dedupfs-stat --history --json "$1" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["samples"]))'; }
has_samples() { [ "$(samples "$1")" -ge "$2" ]; }
# of_last TARGET KEY: of the last sample.
of_last() { dedupfs-stat --history --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"][-1][sys.argv[1]])' "$2"; }

new_volume
check "a mount takes a sample" wait_until 60 has_samples "$mnt" 1
mkdir -p "$mnt/music" "$mnt/<img src=x onerror=alert(1)>" "$mnt/$(printf 'a very long name %.0s' $(seq 12))"
noise 1 3000000 >"$mnt/music/one"
cp "$mnt/music/one" "$mnt/$(printf 'a very long name %.0s' $(seq 12))/two"
dedupfs-snapshot create "$mnt" monday >/dev/null 2>&1
noise 2 2000000 >"$mnt/music/three"
check "the volume is scrubbed" dedupfs-scrub --wait "$mnt"

check "a page about a mounted volume is written" dedupfs-report "$mnt" -o "$scratch/mounted.html"
check_equal "only its owner may read it" 600 "$(stat -c %a "$scratch/mounted.html")"
unmount_volume
check_equal "the sample of the unmount has what the mount wrote" 8000000 "$(of_last "$volume" logical_bytes)"
check_equal "and the files" 3 "$(of_last "$volume" files)"
before=$(dedupfs-stat --history --csv "$volume")
mount_volume && sleep 1
unmount_volume
check_equal "a mount that changes nothing takes none" "$before" "$(dedupfs-stat --history --csv "$volume")"
check "of the first hour there is a row, and nothing to draw" grep -q 'This is the first sample' <<<"$(dedupfs-stat --history --plot "$volume")"
check_equal "what is older is left out" 1 "$(dedupfs-stat --history --csv --since @9999999999 "$volume" | wc -l)"
check "fsck has nothing to say about it" fsck.dedupfs -n "$volume"
rm -rf "$volume/index"
check "fsck rebuilds a lost index" sh -c 'fsck.dedupfs -y "$1"; [ $? -le 7 ]' sh "$volume"
check_equal "and takes the history from the checkpoint" "$before" "$(dedupfs-stat --history --csv "$volume")"

check "a page about a volume is written" dedupfs-report "$volume" -o "$scratch/page.html"
check "a file that cannot be written is a failure" sh -c '! dedupfs-report "$1" -o /no/such/folder/page.html' sh "$volume"
if ! command -v chromium >/dev/null; then
  skip "the page in a browser" "chromium is not installed"
  finish
fi
page_check() { python3 -B "$here/page_check.py" "$@"; }
"${DEDUPFS_HELPERS:-$here/../../build/tests/integration}/report-sample" >"$scratch/sample.html"
check_equal "the page has its sections, and Chromium no complaint" \
  "Where the space goes|Growth|Snapshots|Folders|Fragmentation and restore speed|Health" \
  "$(page_check "$scratch/sample.html" 2>&1 | paste -sd'|')"
check "the page is dark for who wants that" page_check --dark "$scratch/sample.html"
check "the page fits on a phone" page_check --width 360 --height 740 "$scratch/sample.html"
check "and on a dark one" page_check --width 360 --height 740 --dark "$scratch/sample.html"
check "so does that of the volume above" page_check --width 360 --height 740 "$scratch/mounted.html"
# The witness must notice.
sed 's|<header>|<img src="https://example.org/x"><div style="width:2000px">wide</div><p style="color:#eee">faint</p><header>|' "$scratch/page.html" >"$scratch/bad.html"
complaints=$(page_check "$scratch/bad.html" 2>&1)
for complaint in "console says" "pixels wide" "hard to read"; do
  check "a bad page is noticed: $complaint" grep -q "$complaint" <<<"$complaints"
done
finish
