"""A volume in a bucket (docs/remote.md): objects, heads, requests, costs. Of the index the model has tables only, no log and no manifest."""
import dataclasses
import math

from .parameters import MIB, KIB, TB
from .volume import tables_of, volume_of

MONTH_SECONDS = 365.25 / 12 * 86400


@dataclasses.dataclass(frozen=True)
class Objects:
    containers: int  # a sealed one of ordinary size is one object
    tables: int  # of the index

    @property
    def all(self):
        return self.containers + self.tables


def objects_of(volume, parameters):
    return Objects(int(volume.containers), tables_of(volume, parameters))


# Heads


def full_list_bytes(volume, parameters):
    return objects_of(volume, parameters).all * parameters.head_entry_bytes


def index_bytes_shipped(data_set, stored_bytes, parameters):
    """For so many new bytes in containers: what compaction writes anew is shipped, too."""
    return volume_of(data_set, stored_bytes, parameters).index_bytes * parameters.index_shipping


def objects_of_an_interval(data_set, parameters):
    """What a head adds: the containers that filled up meanwhile, and a piece of the open one."""
    stored = data_set.stored_bytes_a_second * parameters.remote_lag_seconds
    containers = math.ceil(stored / parameters.container_bytes)
    tables = math.ceil(index_bytes_shipped(data_set, stored, parameters) / parameters.table_bytes)
    return containers + tables


def changes_bytes(data_set, parameters):
    """Of a head without a full list. For each object that is added another one may have been dropped: that takes its path."""
    return objects_of_an_interval(data_set, parameters) * (parameters.head_entry_bytes + parameters.head_dropped_bytes)


def heads_a_day(parameters):
    return 86400 / parameters.remote_lag_seconds


def heads_a_full_list(data_set, volume, parameters):
    """A head has a full list when the changes since the last one would take more bytes than that, and after so many heads."""
    until_as_long = full_list_bytes(volume, parameters) / changes_bytes(data_set, parameters)
    return max(1.0, min(parameters.most_heads_a_full_list, until_as_long))


def full_lists_bytes_a_day(data_set, volume, parameters):
    return heads_a_day(parameters) / heads_a_full_list(data_set, volume, parameters) * full_list_bytes(volume, parameters)


# Costs, in dollars


def storage_a_month(stored_bytes, parameters):
    return stored_bytes / TB * parameters.storage_price


def puts(count, parameters):
    return count / 1000 * parameters.put_price


def gets(count, parameters):
    return count / 1000 * parameters.get_price


def leaving(count_bytes, parameters):
    return count_bytes / TB * (parameters.egress_price + parameters.retrieval_price)


@dataclasses.dataclass(frozen=True)
class Ingest:
    objects: int
    heads: int

    @property
    def requests(self):
        return self.objects + self.heads


def ingest_of(data_set, stored_bytes, parameters):
    """Containers that are filled. A writer who is slower than a container a lag puts it in pieces, and some of it again: that is left out."""
    containers = math.ceil(stored_bytes / parameters.container_bytes)
    tables = math.ceil(index_bytes_shipped(data_set, stored_bytes, parameters) / parameters.table_bytes)
    heads = math.ceil(stored_bytes / data_set.stored_bytes_a_second / parameters.remote_lag_seconds)
    return Ingest(containers + tables, heads)


@dataclasses.dataclass(frozen=True)
class Block:
    """How much a reader asks for at once. Without bytes: one region."""

    name: str
    bytes: float
    over_read: float


def blocks(parameters):
    return (
        Block("a region", 0, 1.0),
        Block("512 KiB", 512 * KIB, parameters.over_read_512k),
        Block("4 MiB", 4 * MIB, parameters.over_read_4m),
        Block("a container", parameters.container_bytes, 1.0),
    )


def restore_requests(data_set, stored_bytes, block):
    """All of a volume is read, each byte once: a container is sparse for nobody."""
    if block.bytes == 0:
        return math.ceil(data_set.regions * stored_bytes / data_set.container_bytes)
    return math.ceil(stored_bytes * block.over_read / block.bytes)


def restore_cost(data_set, stored_bytes, block, parameters):
    return (gets(restore_requests(data_set, stored_bytes, block), parameters)
            + leaving(stored_bytes * block.over_read, parameters))


# Rewriting containers of which a share is garbage


def moved_for_a_byte_freed(garbage):
    return (1 - garbage) / garbage


def read_for_a_rewrite(live_bytes, garbage_bytes, parameters):
    return live_bytes + parameters.read_beside_live * garbage_bytes


def rewrite_cost(freed_bytes, garbage, is_cached, parameters):
    """Of containers with this share of garbage, so that so many bytes come back. What is not cached is read in blocks of 4 MiB."""
    moved = freed_bytes * moved_for_a_byte_freed(garbage)
    cost = puts(math.ceil(moved / parameters.container_bytes), parameters)
    if not is_cached:
        read = read_for_a_rewrite(moved, freed_bytes, parameters)
        cost += gets(math.ceil(read / (4 * MIB)), parameters) + leaving(read, parameters)
    return cost


def payback_months(garbage, is_cached, parameters):
    return rewrite_cost(TB, garbage, is_cached, parameters) / storage_a_month(TB, parameters)


def least_garbage(is_cached, parameters):
    """From which share of garbage on a rewriting pays back in time."""
    low, high = 1e-4, 1.0
    if payback_months(low, is_cached, parameters) <= parameters.payback_months:
        return low
    if payback_months(high, is_cached, parameters) > parameters.payback_months:
        return None
    while high - low > 1e-5:
        middle = (low + high) / 2
        if payback_months(middle, is_cached, parameters) > parameters.payback_months:
            low = middle
        else:
            high = middle
    return high


def fetched_from(parameters):
    """The share of garbage from which on dedupfs fetches a container to rewrite it: worth_fetching() of store/reclaim/reclaim_types.h. It counts
    live bytes only, by the prices of Amazon S3 Standard."""
    egress, storage = 90.0, 23.0
    return egress / (egress + storage * parameters.payback_months)
