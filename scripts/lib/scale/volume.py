"""A volume of a given size, filled with data like a data set: its index, its memory, how long things take, where limits lie.

Everything grows in proportion to the bytes in containers, but for what a parameter limits.
"""
import dataclasses
import math

from .parameters import GB, MIB, TB


@dataclasses.dataclass(frozen=True)
class Volume:
    stored_bytes: float  # in containers
    logical_bytes: float
    chunks: float
    references: float
    regions: float
    inodes: float
    containers: float
    directory_bytes: float
    fingerprint_bytes: float
    extent_bytes: float
    feature_bytes: float
    recipe_bytes: float
    namespace_bytes: float
    checkpoint_bytes: float
    filter_keys: float

    @property
    def index_bytes(self):
        return self.fingerprint_bytes + self.extent_bytes + self.feature_bytes + self.recipe_bytes + self.namespace_bytes


def share_with_features(chunks, parameters):
    """Of so many chunks. Beyond the limit of the index of features, the oldest are forgotten."""
    return min(1.0, parameters.feature_index_bytes / (chunks * parameters.feature_bytes_a_chunk))


def volume_of(data_set, stored_bytes, parameters):
    times = stored_bytes / data_set.container_bytes
    slack = times * parameters.index_slack
    remembered = share_with_features(times * data_set.chunks, parameters)
    features = data_set.feature_keys(parameters) * times * remembered
    return Volume(
        stored_bytes=stored_bytes,
        logical_bytes=times * data_set.logical_bytes,
        chunks=times * data_set.chunks,
        references=times * data_set.references,
        regions=times * data_set.regions,
        inodes=times * data_set.inodes,
        containers=math.ceil(stored_bytes / parameters.container_bytes),
        directory_bytes=times * data_set.directory_bytes,
        fingerprint_bytes=slack * data_set.fingerprint_bytes,
        extent_bytes=slack * data_set.extent_bytes,
        feature_bytes=slack * data_set.feature_bytes * remembered,
        recipe_bytes=slack * data_set.recipe_bytes,
        namespace_bytes=slack * data_set.namespace_bytes,
        checkpoint_bytes=times * data_set.checkpoint_bytes,
        filter_keys=times * data_set.chunks + features,
    )


def tables_of(volume, parameters):
    return math.ceil(volume.index_bytes / parameters.table_bytes)


def manifest_bytes(volume, parameters):
    return tables_of(volume, parameters) * parameters.manifest_bytes_a_table


# Memory


def cap(memory_bytes, lowest=16 * MIB, highest=256 * MIB):
    return min(max(memory_bytes / 16, lowest), highest)


def caps_of(memory_bytes):
    """cache=, index_mem= and dirty= by default: docs/memory.md."""
    large = max(cap(memory_bytes), memory_bytes / 64)
    return large, large, cap(memory_bytes)


def daemon_bytes(parameters):
    return sum(caps_of(parameters.machine_memory_bytes)) + parameters.other_memory_bytes


def filter_memory_bytes(volume, parameters):
    return volume.filter_keys * parameters.filter_bytes


def index_memory_wanted(volume, parameters):
    return filter_memory_bytes(volume, parameters) / parameters.filter_share


def listing_bytes(volume, parameters):
    """Names and numbers of all containers, while they are listed."""
    return volume.containers * (parameters.name_bytes + 4)


def reclaim_bytes(volume, parameters):
    return volume.chunks * parameters.reclaim_bytes_a_chunk


def fsck_bytes(volume, parameters):
    return (volume.chunks * parameters.fsck_bytes_a_chunk
            + volume.regions * parameters.extents_a_region * parameters.fsck_bytes_an_extent
            + volume.inodes * parameters.fsck_bytes_an_inode)


def session_record_bytes(volume, parameters):
    """The list of files of an encrypted volume. Tables and checkpoints are few beside containers."""
    return volume.containers * parameters.session_entry_bytes


# Time, in seconds


def mount_seconds(volume, parameters):
    return parameters.mount_seconds + volume.containers * (parameters.list_seconds + parameters.status_seconds)


def look_seconds(volume, parameters):
    """Of a look whether a reclaim is due, while files have dropped 64 MiB and more: store/containers/container_store.cc, list()."""
    return volume.containers * (parameters.list_seconds + parameters.inspect_seconds)


def head_bytes(volume, parameters):
    """Of a head with a full list, of a volume that is shipped to a bucket."""
    return (volume.containers + tables_of(volume, parameters)) * parameters.head_entry_bytes


def checkpoint_seconds(volume, parameters):
    return volume.checkpoint_bytes / parameters.checkpoint_bytes_a_second


def seconds_between_checkpoints(volume, parameters):
    return max(parameters.checkpoint_seconds, checkpoint_seconds(volume, parameters) / parameters.checkpoint_share_of_time)


def filling_seconds(data_set, volume):
    return volume.logical_bytes / data_set.ingest_bytes_a_second


def scrub_seconds(volume, bytes_a_second):
    return volume.stored_bytes / bytes_a_second


def fsck_seconds(volume, parameters):
    return volume.chunks * parameters.fsck_seconds_a_chunk


def verify_seconds(data_set, volume):
    return volume.stored_bytes / data_set.container_bytes * data_set.verify_seconds


def mark_seconds(volume, parameters):
    return volume.references * parameters.mark_seconds_a_chunk


def moved_share(parameters):
    """Of the containers' bytes: the live chunks beside the garbage in the containers that a reclaim empties."""
    return parameters.garbage_share * (1 - parameters.garbage_of_touched) / parameters.garbage_of_touched


def move_seconds(data_set, volume, parameters):
    """Processor time: moved chunks are compressed with the settled level."""
    return volume.stored_bytes * moved_share(parameters) * data_set.settling_seconds_a_gb / GB


# Limits


@dataclasses.dataclass(frozen=True)
class Limit:
    name: str
    effect: str
    remedy: str
    measure: object  # a function of a volume, which grows with it
    most: float

    def stored_bytes(self, data_set, parameters):
        """The size from which on it is met: where the measure passes the most. None: at no size."""
        low, high = 1.0, 1e24
        if self.measure(volume_of(data_set, high, parameters)) <= self.most:
            return None
        while high / low > 1.0001:
            middle = math.sqrt(low * high)
            if self.measure(volume_of(data_set, middle, parameters)) <= self.most:
                low = middle
            else:
                high = middle
        return high


def limits(parameters):
    day = 86400
    memory = parameters.machine_memory_bytes

    def with_parameters(function):
        return lambda volume: function(volume, parameters)

    return (
        Limit("filters in `index_mem=256m`: 4 to 16 GiB of memory", "a look-up of a new chunk reads the index from the disk",
              "more `index_mem=`", with_parameters(index_memory_wanted), cap(16 * 1024 * MIB)),
        Limit("filters in `index_mem=1g`: 64 GiB of memory", "a look-up of a new chunk reads the index from the disk", "more `index_mem=`", with_parameters(index_memory_wanted),
              caps_of(memory)[1]),
        Limit("features, `index=4g`", "resemblance is found among the newest chunks only", "`mkfs.dedupfs --delta odess+:index=`",
              lambda volume: volume.chunks * parameters.feature_bytes_a_chunk, parameters.feature_index_bytes),
        Limit("256 open tables of the index", "a look-up may have to open a table first", "a larger `max_open_files`",
              lambda volume: tables_of(volume, parameters), parameters.open_tables),
        Limit("looking whether a reclaim is due takes a tenth of the time", "each 10 s, the header and trailer of each container are read",
              "a sum that is kept", with_parameters(look_seconds), parameters.look_seconds / 10),
        Limit("the checkpoint of an unmount takes 10 minutes", "units with a time limit give it up", "checkpoints of changes",
              with_parameters(checkpoint_seconds), 600),
        Limit("`fsck.dedupfs -n`, 64 GiB of memory", "no check on such a machine", "a table of chunks in files",
              with_parameters(fsck_bytes), memory),
        Limit("`fsck.dedupfs -n`, a day of processor time", "a check has no night to fit in", "check in parts, beside a mount",
              with_parameters(fsck_seconds), day),
        Limit("a reclaim marks, 64 GiB of memory", "no reclaim on such a machine", "mark by ranges of ids",
              with_parameters(reclaim_bytes), memory),
        Limit("a reclaim marks, a day", "deleted space comes back late", "keep the mark of what did not change",
              with_parameters(mark_seconds), day),
        Limit("a scrub at 200 MB/s, 30 days", "damage is found late", "a faster disk, or shards",
              lambda volume: scrub_seconds(volume, 200e6), 30 * day),
        Limit("files in one folder, ext4 without `large_dir`", "no more containers", "XFS, `large_dir`; folders of containers",
              lambda volume: volume.containers, parameters.folder_files),
        Limit("record of the last session, encrypted", "a mount does not read a longer one", "a list in parts",
              with_parameters(session_record_bytes), parameters.session_record_bytes),
        Limit("head with a full list, of a volume in a bucket", "nothing more is shipped", "a list in parts", with_parameters(head_bytes),
              parameters.head_refused_bytes),
        Limit("a mount takes a minute", "waiting", "no status of each container at a mount", with_parameters(mount_seconds), 60),
        Limit("names of containers at a mount, 1 GiB", "memory outside of the caps", "list in parts", with_parameters(listing_bytes),
              1024 * MIB),
        Limit("manifest of the index, 4 MiB", "written anew with each change of tables", "larger tables",
              with_parameters(manifest_bytes), parameters.manifest_rewritten_bytes),
        Limit("manifest of the index, 16 MiB", "the index is refused", "larger tables; a larger bound",
              with_parameters(manifest_bytes), parameters.manifest_refused_bytes),
        Limit("numbers of containers", "no more containers; moves use up numbers, too", "larger containers; a wider number",
              lambda volume: volume.containers, parameters.container_numbers),
    )


def first_met(data_set, parameters):
    """The limits by the size at which they are met, smallest first."""
    met = [(limit.stored_bytes(data_set, parameters), limit) for limit in limits(parameters)]
    return sorted(((size, limit) for size, limit in met if size is not None), key=lambda pair: pair[0])


SIZES = (1 * TB, 100 * TB, 1000 * TB, 10000 * TB)
