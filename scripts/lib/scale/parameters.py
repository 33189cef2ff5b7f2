"""The constants of the model. Each says where it comes from."""
import dataclasses

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MB, GB, TB, PB = 10 ** 6, 10 ** 9, 10 ** 12, 10 ** 15

CODE = "code"  # a constant of the sources, or the format
MEASURED = "measured"
PRICE = "price"
GUESS = "guess"


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    value: float
    unit: str
    origin: str
    source: str


DEFAULTS = (
    Parameter("container_bytes", 64 * MIB, "bytes", CODE, "store/format/superblock.h"),
    Parameter("container_numbers", 2 ** 32 - 1, "containers", CODE, "docs/format.md: numbers are never used twice"),
    Parameter("filter_bytes", 1.125, "bytes a key", CODE, "index/database_options.h, kFilterBytesOf8Keys"),
    Parameter("filter_share", 0.75, "of index_mem=", CODE, "index/database.cc, filter_memory_of()"),
    Parameter("feature_index_bytes", 4 * GIB, "bytes", CODE, "delta/settings.h, index=4g"),
    Parameter("feature_bytes_a_chunk", 48, "bytes", CODE, "store/ingest/feature_index.cc, kDiskBytesPerChunk"),
    Parameter("feature_bytes_a_key", 482381 / (3 * 13389), "bytes", MEASURED, "scripts/bench-index: random bytes, 3 keys a chunk"),
    Parameter("super_features", 3, "a chunk", CODE, "delta/resemblance.h"),
    Parameter("open_tables", 256, "tables", CODE, "index/database_options.cc, max_open_files"),
    Parameter("manifest_rewritten_bytes", 4 * MIB, "bytes", CODE, "index/database_options.cc, max_manifest_file_size"),
    Parameter("manifest_refused_bytes", 16 * MIB, "bytes", CODE, "index/index_guard.h, kMaxManifestBytes"),
    Parameter("table_bytes", 64 * MIB, "bytes", CODE, "target_file_size_base of RocksDB, which dedupfs does not change"),
    Parameter("session_record_bytes", 1 * GIB, "bytes", CODE, "store/seal/volume_record.cc, kMaxRecordFileBytes"),
    Parameter("session_entry_bytes", 146, "bytes a container", CODE, "docs/format.md, record of the last session: added up"),
    Parameter("fsck_bytes_a_chunk", 8, "bytes", CODE, "store/chunks/chunk_table.h: 4 bytes, in a list that doubles"),
    Parameter("fsck_bytes_an_extent", 52, "bytes", CODE, "the same: 24 bytes, doubling, and the offset of the region"),
    Parameter("fsck_bytes_an_inode", 100, "bytes", CODE, "fs/check/namespace_check.h"),
    Parameter("extents_a_region", 2, "", CODE, "docs/design.md: one or two"),
    Parameter("name_bytes", 64, "bytes a container", CODE, "a name of 20 characters as std::string, while containers are listed"),
    Parameter("other_memory_bytes", 400 * MIB, "bytes", CODE, "docs/memory.md: all but the three caps"),
    Parameter("checkpoint_share_of_time", 1 / 50, "", CODE, "fs/background/checkpointer.cc, kShareOfTime"),
    Parameter("checkpoint_seconds", 600, "s", CODE, "checkpoint=600"),
    Parameter("reclaim_bytes_a_chunk", 0.55, "bytes", MEASURED, "docs/reclaim.md, Memory: 55 MB for 100 million chunks with bases"),
    Parameter("mark_seconds_a_chunk", 0.199e-6, "s", MEASURED, "docs/benchmarks.md, Reclaim, Scale: 19.9 s for 100 million"),
    Parameter("fsck_seconds_a_chunk", 3.8e-6, "CPU s", MEASURED, "docs/memory.md, Tables that lie: 9.7 s for 2.56 million"),
    Parameter("checkpoint_bytes_a_second", 133 * MB / 5.6, "bytes", MEASURED, "docs/durability.md, Checkpoints: 133 MB in 5.6 CPU s"),
    Parameter("mount_seconds", 0.1, "s", MEASURED, "scripts/bench-index: a clean mount of a small volume"),
    Parameter("index_shipping", 173 / 49, "times", MEASURED, "14 rounds of random keys: 173 MB shipped for 49 MB of content"),
    Parameter("requests_at_once", 1.4, "", MEASURED, "containers 30 ms away: the mean of what the three measured rows give, 1.2 to 1.8"),
    Parameter("list_seconds", 1e-6, "s a container", GUESS, "reading a folder of containers"),
    Parameter("status_seconds", 10e-6, "s a container", GUESS, "status of a file that is not in memory; root asks it of each at a mount"),
    Parameter("look_seconds", 10, "s", CODE, "fs/background/background_work.cc, kLookInterval"),
    Parameter("inspect_seconds", 12e-6, "CPU s a container", MEASURED, "open, fstat, two reads, close of 5,000 files in memory, in Python"),
    Parameter("folder_files", 10e6, "files", GUESS, "what a folder of ext4 without large_dir holds; XFS has no such limit"),
    Parameter("manifest_bytes_a_table", 150, "bytes", GUESS, "two keys of 40 bytes, sizes, numbers, times: added up"),
    Parameter("index_slack", 1.11, "times", GUESS, "the last level holds 90 % of a family; the rest may be replaced records"),
    Parameter("garbage_share", 0.2, "of the containers", CODE, "docs/reclaim.md: a reclaim begins when files dropped a fifth"),
    Parameter("garbage_of_touched", 0.5, "", GUESS, "the garbage of the containers that a reclaim empties, on average"),
    Parameter("machine_memory_bytes", 64 * GIB, "bytes", GUESS, "a server"),
    Parameter("remote_lag_seconds", 60, "s", CODE, "remote_lag=60"),
    Parameter("head_entry_bytes", 70, "bytes", CODE, "replica/head.h: a file of one piece; tests/replica/head_test.cc sees that it takes less"),
    Parameter("head_dropped_bytes", 20, "bytes", CODE, "the same: the path of a file that was dropped, of which most is as in the one before"),
    Parameter("head_refused_bytes", 256 * MIB, "bytes", CODE, "replica/head.h, kMaxHeadBytes"),
    Parameter("most_heads_a_full_list", 256, "heads", CODE, "replica/shipper.cc, kMostChanges"),
    Parameter("read_beside_live", 0.5, "of the garbage", GUESS, "what is read along with the live regions of a container"),
    Parameter("payback_months", 3, "months", CODE, "remote_payback=3"),
    Parameter("over_read_512k", 27 / 26, "times", MEASURED, "26 MB of regions read in blocks of 512 KiB: 27 MB"),
    Parameter("over_read_4m", 29 / 26, "times", MEASURED, "the same in blocks of 4 MiB: 29 MB"),
    Parameter("storage_price", 23.0, "$ a TB and month", PRICE, "Amazon S3 Standard, us-east-1, first 50 TB"),
    Parameter("put_price", 0.005, "$ a thousand", PRICE, "the same: PUT, LIST"),
    Parameter("get_price", 0.0004, "$ a thousand", PRICE, "the same: GET"),
    Parameter("egress_price", 90.0, "$ a TB", PRICE, "the same: out to the internet, first 10 TB a month; 0 within the region"),
    Parameter("retrieval_price", 0.0, "$ a TB", PRICE, "the same: none"),
)

PRICES_DATED = "2025"  # of all lists below
# What differs from the defaults, by the name of the list.
PRICE_LISTS = {
    "s3-standard": {},
    "s3-infrequent": {"storage_price": 12.5, "put_price": 0.01, "get_price": 0.001, "retrieval_price": 10.0},
    "b2": {"storage_price": 6.0, "put_price": 0.0, "get_price": 0.0004, "egress_price": 10.0},
}


class Parameters:
    """The values, as attributes. `changes` replaces defaults by name."""

    def __init__(self, changes=None):
        self._all = {parameter.name: parameter for parameter in DEFAULTS}
        for name, value in (changes or {}).items():
            if name not in self._all:
                raise KeyError(f"there is no parameter {name}")
            if not value >= 0:
                raise ValueError(f"{name} must not be negative")
            self._all[name] = dataclasses.replace(self._all[name], value=value)

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._all:
            raise AttributeError(name)
        return self._all[name].value

    def all(self):
        return tuple(self._all.values())

    def with_changes(self, **changes):
        return Parameters({**{parameter.name: parameter.value for parameter in self.all()}, **changes})
