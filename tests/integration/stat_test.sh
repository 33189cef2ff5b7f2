#!/usr/bin/env bash
# The numbers of dedupfs-stat, recomputed from the data. Chunks are of fixed size here, so that anybody can count them.
. "$(dirname "$0")/lib.sh"

new_volume --chunker fixed:avg=4k --compression none
noise 1 4096000 >"$mnt/one" # 1000 chunks
cat "$mnt/one" >"$mnt/two" # cat copies, where cp may clone
cat "$mnt/one" >"$mnt/three"
truncate -s 8M "$mnt/hole"
mkdir "$mnt/folder"
for i in 1 2 3; do echo "tiny $i" >"$mnt/folder/$i"; done # 7 bytes each, inline
commit

json=$(dedupfs-stat --json "$mnt")
value() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1" <<<"$json"; }
near() { python3 -c 'import sys; a, b, part = map(float, sys.argv[1:]); sys.exit(abs(a - b) > part * max(abs(b), 1e-9))' "$@"; }

check "all keys are there, bytes as integers" python3 -c '
import json, sys
report = json.loads(sys.argv[1])
whole = """logical_bytes hole_bytes unique_bytes stored_bytes garbage_bytes index_bytes disk_bytes files directories
  chunks unique_chunks duplicate_chunks delta_chunks format_version""".split()
whole += "inline_bytes other_bytes delta_raw_bytes delta_bytes after_delta_bytes base_only_chunks base_only_bytes snapshots snapshot_only_chunks snapshot_only_bytes freed_bytes index_filter_bytes index_memory_bytes index_memory_wanted_bytes".split()
other = """savings_percent dedup_ratio compression_ratio total_ratio chunker fingerprint delta compression uuid mounted nfs_export
  index_table_bytes mean_delta_bytes similar_chunk_ratio delta_compression_efficiency delta_compression_ratio
  local_compression_ratio""".split()
missing = [key for key in whole + other if key not in report]
assert not missing, missing
assert all(type(report[key]) is int for key in whole), report' "$json"

check_equal "logical bytes are the sizes of all files" $((3 * 4096000 + 8388608 + 21)) "$(value logical_bytes)"
check_equal "hole bytes" 8388608 "$(value hole_bytes)"
check_equal "files" 7 "$(value files)"
check_equal "directories (the root is one)" 2 "$(value directories)"
check_equal "chunks" 3000 "$(value chunks)"
check_equal "unique chunks" 1000 "$(value unique_chunks)"
check_equal "duplicate chunks" 2000 "$(value duplicate_chunks)"
check_equal "delta chunks" 0 "$(value delta_chunks)"
check "unique bytes are one copy" near "$(value unique_bytes)" 4096000 0.001
check "random data costs at most 1 % more than its size" near "$(value stored_bytes)" 4096000 0.02
check "disk bytes are what du counts" near "$(value disk_bytes)" "$(du -s -B1 "$volume" | cut -f1)" 0.05
check "the ratios are those of the bytes: logical, unique, stored, on disk" python3 -c '
import json, sys
r = json.loads(sys.argv[1])
in_chunks = r["logical_bytes"] - r["hole_bytes"] - r.get("inline_bytes", 0)
for key, ratio in (("dedup_ratio", in_chunks / r["unique_bytes"]), ("compression_ratio", r["unique_bytes"] / r["stored_bytes"]),
                   ("total_ratio", r["logical_bytes"] / r["disk_bytes"]),
                   ("savings_percent", 100 - 100 * r["disk_bytes"] / r["logical_bytes"])):
    assert abs(r[key] - ratio) <= 0.001 * ratio, (key, r[key], ratio)' "$json"
check "the uuid is that of the superblock" grep -q "$(value uuid)" "$volume/superblock.json"
check_equal "delta settings are those of the superblock" "$(value delta)" \
  "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["delta"])' "$volume/superblock.json")"
check_equal "mounted" True "$(value mounted)"
check "the chunker is named" grep -q fixed <<<"$(value chunker)"
check "the screen for people opens with what the volume holds, takes and suffers" eval \
  'dedupfs-stat "$mnt" | head -n 3 | cut -d " " -f 1 | xargs | grep -qx "Holds Takes Health"'
check "with -v it has each step" eval 'dedupfs-stat -v "$mnt" | grep -q "^Unique .*after deduplication"'
freed() { (
  json=$(dedupfs-stat --json --freed "$@")
  value freed_bytes
); }
check_equal "deleting one of three equal files would free nothing" 0 "$(freed "$mnt/one")"
check "deleting all of them would free what they take" near "$(freed "$mnt/one" "$mnt/two" "$mnt/three")" 4096000 0.02
ln "$mnt/one" "$mnt/folder/one"
ln -s one "$mnt/folder/symbolic"
check_equal "not while one has another name" 0 "$(freed "$mnt/one" "$mnt/two" "$mnt/three" "$mnt/folder/symbolic")"
check "but with the folder of that name" near "$(freed "$mnt/one" "$mnt/two" "$mnt/three" "$mnt/folder/")" 4096000 0.02
check_equal "a path that is given twice counts once" 0 "$(cd "$mnt" && freed one ./one two three)"
check "a tree has a line for itself and one for each folder in it" eval \
  'dedupfs-stat --tree "$mnt" | awk "{print \$NF}" | xargs | grep -qx "Folder $mnt $mnt/folder"'
rm "$mnt/folder/one" "$mnt/folder/symbolic"
uuid=$(value uuid)
check_equal "a line for /etc/exports names the uuid" "$mnt *(rw,no_subtree_check,fsid=$uuid)" "$(value nfs_export)"
check "on the screen, too" eval 'dedupfs-stat -v "$mnt" | grep -q "/etc/exports: $mnt .*fsid=$uuid"'
check "what was negotiated with the kernel is told" python3 -c '
import json, re, subprocess, sys
kernel = json.loads(sys.argv[1])["kernel"]
library = subprocess.run(["dedupfs", "--version"], check=True, capture_output=True, text=True).stdout
assert "libfuse " + kernel["libfuse_version"] + "," in library, (kernel, library)
assert re.fullmatch(r"7\.[0-9]+", kernel["kernel_protocol"]) and re.fullmatch(r"7\.[0-9]+", kernel["daemon_protocol"]), kernel
assert {"posix_acl", "readdirplus", "async_read"} <= set(kernel["used"]) <= set(kernel["offered"]), kernel
assert "writeback_cache" in kernel["offered"] and "writeback_cache" not in kernel["used"], kernel
assert 65536 <= kernel["largest_request_bytes"] <= 1 << 20 and kernel["max_background"] > 0, kernel' "$json"
library="libfuse $(python3 -c 'import json, sys; print(json.load(sys.stdin)["kernel"]["libfuse_version"])' <<<"$json"), protocol 7[.]"
check "also on the screen" eval 'dedupfs-stat -v "$mnt" | grep -q "^  "'"'$library'"
sleep 1.1 # for so long the size of a volume is remembered
read -r blocks free available block_bytes < <(stat -f -c "%b %f %a %S" "$mnt") # in one call: others may write to the disk below
check "df shows as used what the volume takes" near "$(((blocks - free) * block_bytes))" "$(value disk_bytes)" 0.05
check_equal "and as free what is available" "$free" "$available"
check "which is what the disk below has, but for the reserve" python3 -c '
import os, sys
mount, disk = os.statvfs(sys.argv[1]), os.statvfs(sys.argv[2])
here, below = mount.f_bavail * mount.f_frsize, disk.f_bavail * disk.f_frsize
assert below - (1 << 30) - 0.1 * below <= here <= below + 0.1 * below, (here, below)' "$mnt" "$volume"
by_volume=$(dedupfs-stat --json "$volume")
check_equal "the volume's folder gives the same as the mountpoint" "$(value unique_bytes)" \
  "$(json=$by_volume; value unique_bytes)"

metrics=$scratch/dedupfs.prom
check "metrics are written for node_exporter" dedupfs-stat --prometheus "$metrics" "$mnt"
monitoring=$(dirname "$0")/../contrib/monitoring_test.py
check "in the form of Prometheus, with each name that rules and dashboard use" python3 "$monitoring" "$metrics"
check_equal "everybody may read them" 644 "$(stat -c %a "$metrics")"
check "they have the numbers of the statistics" grep -q "^dedupfs_unique_bytes{.*} $(value unique_bytes)\$" "$metrics"
check "and whether the mount takes data" grep -q "^dedupfs_read_only{.*mountpoint=\"$mnt\"} 0\$" "$metrics"
check "operations of the mount are counted" python3 -c '
import re, sys
text = open(sys.argv[1]).read()
values = dict(re.findall(r"(?m)^(dedupfs_operation_[a-z_]+\{.*operation=\"write\"\}) (\S+)$", text))
of = {name.split("{")[0]: float(value) for name, value in values.items()}
assert of["dedupfs_operation_bytes_total"] >= 4096000, of  # cat copies by copy_file_range
assert of["dedupfs_operation_seconds_count"] >= 4 and of["dedupfs_operation_seconds_sum"] > 0, of
stages = {stage: float(value) for stage, value in
          re.findall(r"dedupfs_ingest_stage_bytes_total\{.*stage=\"([a-z_]+)\"\} (\S+)", text)}
assert stages["cut"] >= 4096000 and stages["fingerprint"] >= 4096000, stages
assert stages["compress"] >= 4096000 and stages["commit"] > 0, stages' "$metrics"
check "metrics come as OpenMetrics, too" eval 'dedupfs-stat --openmetrics - "$mnt" | tail -n 1 | grep -qx "# EOF"'
if /usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
  check "which another program reads, with the same numbers" eval 'dedupfs-stat --openmetrics - "$mnt" | /usr/bin/python3 -c "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(sys.stdin.read()))
samples = {sample.name: sample.value for family in families for sample in family.samples}
assert samples[\"dedupfs_unique_bytes\"] == int(sys.argv[1]) and samples[\"dedupfs_mounted\"] == 1, samples
kinds = {family.type for family in families}
assert {\"gauge\", \"counter\"} <= kinds <= {\"gauge\", \"counter\", \"histogram\", \"summary\", \"info\"}, kinds" "$(value unique_bytes)"'
else
  skip "which another program reads, with the same numbers" "python3-prometheus-client is not installed"
fi
check "everybody who sees the mount may watch it" python3 -c '
import json, os, sys
live = json.loads(os.getxattr(sys.argv[1], "dedupfs.live"))
assert live["performance"]["operations"] and not live["scrub"]["running"], live' "$mnt"
check "dedupfs-top sees what is written" python3 -c '
import json, subprocess, sys
mount = sys.argv[1]
top = subprocess.Popen(["dedupfs-top", "--once", "--json", mount], stdout=subprocess.PIPE)
number = 0
while top.poll() is None:  # so that something is written between its two answers
    number += 1
    with open(mount + "/watched", "wb") as file:
        file.write(bytes([number % 256]) * 100000)
rates = json.loads(top.communicate()[0])
assert top.returncode == 0 and "write" in [one["name"] for one in rates["operations"]], rates
assert rates["written_bytes_per_second"] > 0 and rates["bottleneck"], rates' "$mnt"
rm -f "$mnt/watched"
if command -v promtool >/dev/null; then
  rules=$(dirname "$0")/../../contrib/prometheus
  check_equal "promtool finds nothing to say about the metrics" "" "$(promtool check metrics <"$metrics" 2>&1)"
  check "nor about the rules" promtool check rules "$rules/dedupfs.rules.yml"
  check "the rules tell what they should, and nothing else" promtool test rules "$rules/dedupfs.rules.test.yml"
else
  skip "promtool" "it is not installed"
fi

unmount_volume
before=$json
json=$(dedupfs-stat --json "$volume")
check_equal "unmounted" False "$(value mounted)"
check "metrics of a volume that is not mounted are written, too" dedupfs-stat --prometheus "$metrics" "$volume"
check "and say that it is not" grep -q "^dedupfs_mounted{.*volume=\"$volume\".*} 0\$" "$metrics"
check "with the same numbers" grep -q "^dedupfs_unique_bytes{.*} $(value unique_bytes)\$" "$metrics"
if command -v promtool >/dev/null; then
  check_equal "promtool finds nothing to say about them" "" "$(promtool check metrics <"$metrics" 2>&1)"
else
  skip "promtool finds nothing to say about them" "it is not installed"
fi
for key in logical_bytes hole_bytes unique_bytes files directories chunks unique_chunks duplicate_chunks uuid; do
  check_equal "$key is the same when unmounted" "$(json=$before; value $key)" "$(value $key)"
done

mount_volume
rm "$mnt/two" "$mnt/folder/1"
commit
json=$(dedupfs-stat --json "$mnt")
check_equal "after deleting: logical bytes" $((2 * 4096000 + 8388608 + 14)) "$(value logical_bytes)"
check_equal "after deleting: files" 5 "$(value files)"
check "overwriting keeps the count right" eval 'noise 9 4096 | dd of="$mnt/three" bs=4096 seek=10 conv=notrunc status=none; commit'
json=$(dedupfs-stat --json "$mnt")
check_equal "after overwriting: logical bytes" $((2 * 4096000 + 8388608 + 14)) "$(value logical_bytes)"
check_equal "after overwriting: unique chunks" 1001 "$(value unique_chunks)"

# Data that compresses: stored is what the containers hold, unique is what went in.
unmount_volume
new_volume --compression zstd
seq 1000000 >"$mnt/text"
commit
json=$(dedupfs-stat --json "$mnt")
size=$(stat -c %s "$mnt/text")
check "unique bytes of text" near "$(value unique_bytes)" "$size" 0.01
check "it is stored in less than half" test "$(value stored_bytes)" -lt $((size / 2))
check "the containers hold what is said to be stored" near \
  "$(find "$volume/containers" -type f -printf '%s\n' | awk '{s += $1} END {print s}')" "$(value stored_bytes)" 0.05
unmount_volume

# Two versions of a file that differ in a byte here and there: chunks that resemble each other are stored as deltas.
new_volume
noise 1 4000000 >"$scratch/old"
near_duplicate "$scratch/old" 50000 100000 >"$scratch/new"
cp "$scratch/old" "$mnt/old"
commit
cp "$scratch/new" "$mnt/new"
commit
json=$(dedupfs-stat --json "$mnt")
check "chunks with a changed byte are stored as deltas ($(value delta_chunks))" test "$(value delta_chunks)" -ge 20
check "the second version takes next to nothing" test "$(value after_delta_bytes)" -lt 4100000
check "the ratios of deltas are those of the bytes" python3 -c '
import json, sys
r = json.loads(sys.argv[1])
for key, ratio in (("delta_compression_ratio", r["unique_bytes"] / r["after_delta_bytes"]),
                   ("local_compression_ratio", r["after_delta_bytes"] / r["stored_bytes"]),
                   ("compression_ratio", r["unique_bytes"] / r["stored_bytes"]),
                   ("similar_chunk_ratio", r["delta_chunks"] / r["unique_chunks"]),
                   ("delta_compression_efficiency", 1 - r["delta_bytes"] / r["delta_raw_bytes"]),
                   ("mean_delta_bytes", r["delta_bytes"] / r["delta_chunks"])):
    assert abs(r[key] - ratio) <= 0.001 * ratio, (key, r[key], ratio)
assert r["unique_bytes"] - r["delta_raw_bytes"] + r["delta_bytes"] == r["after_delta_bytes"], r
assert sum(r[key] for key in ("stored_bytes", "snapshot_only_bytes", "base_only_bytes", "garbage_bytes", "index_bytes", "other_bytes")) == r["disk_bytes"], r
assert sum(r["index_table_bytes"].values()) <= r["index_bytes"], r' "$json"
check_equal "nothing is kept for deltas alone" 0 "$(value base_only_chunks)"

# The same, file by file.
cp "$mnt/old" "$mnt/copy"
mkdir "$mnt/folder"
ln -s new "$mnt/link"
of_file() { # KEY PATH
  dedupfs-stat --json --file "$2" | python3 -c 'import json, sys; print(json.load(sys.stdin)["files"][0][sys.argv[1]])' "$1"
}
check_equal "a file has its size" 4000000 "$(of_file logical_bytes "$mnt/old")"
check_equal "all chunks of a file with a copy are shared" "$(of_file unique_chunks "$mnt/old")" "$(of_file shared_chunks "$mnt/old")"
check_equal "and nothing is its own" 0 "$(of_file own_bytes "$mnt/old")"
check_equal "the chunks of the new version that changed are deltas" "$(value delta_chunks)" "$(of_file delta_chunks "$mnt/new")"
check_equal "the rest of them it shares" "$(of_file unique_chunks "$mnt/new")" \
  $(($(of_file delta_chunks "$mnt/new") + $(of_file shared_chunks "$mnt/new")))
check "reading it needs chunks that it has not" test "$(of_file base_chunks "$mnt/new")" -ge "$(value delta_chunks)"
check "its deltas alone are its own" test "$(of_file own_bytes "$mnt/new")" -lt 100000
check "containers are counted" test "$(of_file containers "$mnt/new")" -ge 1
check_equal "a link leads to its file" "$(of_file own_bytes "$mnt/new")" "$(of_file own_bytes "$mnt/link")"
check_equal "several files, in their order" "$mnt/new $mnt/old" "$(dedupfs-stat --json --file "$mnt/new" "$mnt/old" |
  python3 -c 'import json, sys; print(*(file["path"] for file in json.load(sys.stdin)["files"]))')"
check "the screen for people has them" eval 'dedupfs-stat --file "$mnt/new" "$mnt/old" | grep -q "$mnt/old"'
check_refused "a folder is no file" 1 'folder is a directory' dedupfs-stat --file "$mnt/folder"
check_refused "nor is what is not there" 1 'none: no such file' dedupfs-stat --file "$mnt/none"
check_refused "a file elsewhere is refused" 1 'not in a mounted dedupfs volume' dedupfs-stat --file "$scratch/old"
check_refused "so is one of a volume" 1 'mount its volume' dedupfs-stat --file "$volume/superblock.json"
check_refused "the good ones are shown beside the bad ones" 1 "$mnt/new" dedupfs-stat --file "$mnt/none" "$mnt/new"
check_refused "a file and a volume are too much" 1 'file' dedupfs-stat "$mnt" --file "$mnt/new"
check_refused "nothing is too little" 1 'required' dedupfs-stat
python3 - "$volume/control.sock" >"$scratch/answers" <<'PY'
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
lines = connection.makefile("rw")
for inodes in (None, "1", [1], [0], [123456789], ["x"], [-1], [1.5e30], [[]], {}):
    request = {"command": "files"} if inodes is None else {"command": "files", "inodes": inodes}
    print(json.dumps(request), file=lines, flush=True)
    print(json.loads(lines.readline())["ok"])
PY
check_equal "the daemon refuses what are no inodes of files" "10 False" "$(sort "$scratch/answers" | uniq -c | xargs)"
unmount_volume
mount_volume ro
check_equal "of a volume that is mounted read-only, too" 0 "$(of_file own_bytes "$mnt/old")"
said_by dedupfs-stat "$mnt"
check "whose daemon answers" test "$(grep -c '^Holds' <<<"$output") $(grep -c 'has died' <<<"$output")" = "1 0"
check_equal "and which counts as mounted" True "$(stat_of mounted)"
remount
dedupfs-snapshot create "$mnt" monday 2>/dev/null
rm "$mnt/old" "$mnt/copy"
commit
before=$(of_file unique_bytes "$mnt/new")
noise 7 1000000 >"$mnt/new"
commit
check_equal "a file in a snapshot has the size that it had" 4000000 "$(of_file logical_bytes "$mnt/.snapshots/monday/new")"
check_equal "and the content" "$before" "$(of_file unique_bytes "$mnt/.snapshots/monday/new")"
check_equal "while the file is what it has become" 1000000 "$(of_file logical_bytes "$mnt/new")"
check "a file that was deleted is there in a snapshot" test "$(of_file unique_chunks "$mnt/.snapshots/monday/old")" -ge 100
check_equal "together with files outside" "4000000 1000000" "$(dedupfs-stat --json --file "$mnt/.snapshots/monday/old" "$mnt/new" |
  python3 -c 'import json, sys; print(*(file["logical_bytes"] for file in json.load(sys.stdin)["files"]))')"
cp "$scratch/new" "$mnt/new"
commit
dedupfs-snapshot delete "$mnt" monday 2>/dev/null
json=$(dedupfs-stat --json "$mnt")
check "what deltas are made from is kept" test "$(value base_only_chunks)" -ge 20
unmount_volume
check "a volume whose deltas outlived the file of their bases is sound" fsck.dedupfs -n --verify-data "$volume"
mount_volume
check "and gives back what was written" cmp "$mnt/new" "$scratch/new"
unmount_volume
mount_volume
kill -9 "$(daemon_pid)"
wait_until 60 no_daemon
dedupfs-stat "$mnt" >"$scratch/shown" 2>"$scratch/said"
check "of a mount whose daemon has died, it says so" grep -q "$mnt: its daemon has died" "$scratch/said"
check "and shows the volume" grep -q '^Holds' "$scratch/shown"

# What deleting a folder would free is what the disk gives back: with content that another folder has, too, and with deltas of it.
fusermount3 -u -z "$mnt" 2>/dev/null || umount -l "$mnt"
new_volume
mkdir "$mnt/stays" "$mnt/goes"
noise 21 8000000 >"$mnt/stays/shared"
cat "$mnt/stays/shared" >"$mnt/goes/shared"
noise 22 6000000 >"$mnt/stays/base"
near_duplicate "$mnt/stays/base" 10000 20000 >"$mnt/goes/near"
noise 23 12000000 >"$mnt/goes/own"
seq 1000000 >"$mnt/goes/text"
dedupfs-sync "$mnt"
dedupfs-gc --settle --wait "$mnt" >/dev/null
unmounted_size() { # of the volume on the disk, with all of its index in tables
  unmount_volume
  du -s -B1 "$volume" | cut -f1
  mount_volume
}
before=$(unmounted_size)
check "the folder has deltas of the other" test "$(stat_of delta_chunks)" -ge 100
predicted=$(freed "$mnt/goes")
rm -r "$mnt/goes"
dedupfs-sync "$mnt"
check "all is reclaimed" dedupfs-gc --wait "$mnt"
given_back=$((before - $(unmounted_size)))
check "the disk gives back what was predicted ($predicted, $given_back)" near "$given_back" "$predicted" 0.03
check "and next to nothing more is to be reclaimed" test "$(stat_of garbage_bytes)" -lt $((predicted / 100))
unmount_volume
finish
