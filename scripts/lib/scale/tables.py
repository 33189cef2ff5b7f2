"""The tables of scripts/scale-model: raw values for JSON, formed ones for Markdown."""
import dataclasses
import re

from . import bucket, volume, writers, year
from .data_sets import DATA_SETS, RATIOS, by_name
from .parameters import GB, MB, MIB, PRICE_LISTS, TB

SHOWN = ("rnd", "lnx", "rds")  # few, more and very many chunks for a byte in containers


# Forms of values


def text(value):
    return value


def short(value):
    """Three digits, or more before the point."""
    if value == 0:
        return "0"
    for digits, bound in ((4, 0.01), (3, 0.1), (2, 10), (1, 100)):
        if abs(value) < bound:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def with_unit(value, units, step):
    for unit in units[:-1]:
        if abs(value) < step * 0.9995:
            return f"{short(value)} {unit}".strip()
        value /= step
    return f"{short(value)} {units[-1]}"


def size(value):
    return with_unit(value, ("B", "KB", "MB", "GB", "TB", "PB", "EB"), 1000)


def count(value):
    return with_unit(value, ("", "thousand", "million", "billion", "trillion"), 1000) if value >= 10000 else f"{value:,.0f}"


def seconds(value):
    for unit, length in (("s", 120), ("min", 7200), ("h", 172800)):
        if value < length:
            return f"{short(value / {'s': 1, 'min': 60, 'h': 3600}[unit])} {unit}"
    return f"{short(value / 86400)} days"


def dollars(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def percent(value):
    if 0 < value < 1e-5:
        return "< 0.001 %"
    return f"{value * 100:.0f} %" if value >= 0.1 or value == 0 else f"{short(value * 100)} %"


def met_at(value):
    return "never" if value is None else size(value)


@dataclasses.dataclass(frozen=True)
class Table:
    name: str
    columns: tuple  # of (heading, form)
    rows: tuple

    def records(self):
        return [dict(zip((heading for heading, _ in self.columns), row)) for row in self.rows]

    def markdown(self):
        lines = ["| " + " | ".join(heading for heading, _ in self.columns) + " |", "|---" * len(self.columns) + "|"]
        lines += ["| " + " | ".join(form(value) for (_, form), value in zip(self.columns, row)) + " |" for row in self.rows]
        return "\n".join(lines)


def sizes_of(names=SHOWN, sizes=volume.SIZES):
    return [(by_name(name), stored) for stored in sizes for name in names]


# The tables


def parameters_table(parameters):
    def value(number):
        return f"{number:,.0f}" if number == int(number) and abs(number) >= 1 else f"{number:.4g}"

    return Table("parameters", (("name", text), ("default", value), ("unit", text), ("origin", text), ("source", text)),
                 tuple((entry.name, entry.value, entry.unit, entry.origin, entry.source) for entry in parameters.all()))


def data_table(parameters):
    rows = tuple((data.name, data.what, data.logical_bytes, data.container_bytes, data.ratio, data.chunks, data.container_bytes / data.chunks,
                  data.index_bytes / data.chunks, data.index_bytes / data.container_bytes * TB,
                  data.directory_bytes / data.container_bytes * TB) for data in DATA_SETS)
    return Table("data", (("set", text), ("what", text), ("files", size), ("containers", size), ("ratio", short), ("chunks", count),
                          ("bytes of containers a chunk", size), ("bytes of index a chunk", short), ("index for a TB in containers", size),
                          ("region directories for a TB", size)), rows)


def index_table(parameters):
    def row(data, stored):
        filled = volume.volume_of(data, stored, parameters)
        return (size(stored), data.name, filled.logical_bytes, filled.chunks, filled.index_bytes, filled.fingerprint_bytes,
                filled.recipe_bytes, volume.index_memory_wanted(filled, parameters), volume.share_with_features(filled.chunks, parameters),
                volume.tables_of(filled, parameters), filled.containers)

    return Table("index", (("stored", text), ("set", text), ("files", size), ("chunks", count), ("index", size), ("fingerprints", size),
                           ("recipes", size), ("`index_mem=` for all filters", size), ("chunks with features", percent), ("tables", count),
                           ("containers", count)), tuple(row(*pair) for pair in sizes_of()))


def memory_table(parameters):
    def row(data, stored):
        filled = volume.volume_of(data, stored, parameters)
        return (size(stored), data.name, volume.daemon_bytes(parameters), volume.filter_memory_bytes(filled, parameters),
                volume.listing_bytes(filled, parameters), volume.reclaim_bytes(filled, parameters), volume.fsck_bytes(filled, parameters),
                volume.session_record_bytes(filled, parameters))

    return Table("memory", (("stored", text), ("set", text), ("daemon, at most", size), ("filters, if all are to fit", size),
                            ("names of containers, at a mount", size), ("a reclaim", size), ("`fsck.dedupfs -n`", size),
                            ("session record, encrypted", size)), tuple(row(*pair) for pair in sizes_of()))


def time_table(parameters):
    def row(data, stored):
        filled = volume.volume_of(data, stored, parameters)
        return (size(stored), data.name, volume.filling_seconds(data, filled), volume.mount_seconds(filled, parameters),
                volume.checkpoint_seconds(filled, parameters),
                volume.seconds_between_checkpoints(filled, parameters), volume.scrub_seconds(filled, 200 * MB),
                volume.scrub_seconds(filled, GB), volume.fsck_seconds(filled, parameters), volume.verify_seconds(data, filled),
                volume.mark_seconds(filled, parameters), volume.move_seconds(data, filled, parameters))

    return Table("time", (("stored", text), ("set", text), ("filling, one writer", seconds), ("mount", seconds), ("unmount: its checkpoint", seconds),
                          ("between checkpoints", seconds), ("scrub at 200 MB/s", seconds), ("at 1 GB/s", seconds), ("`fsck -n`", seconds),
                          ("`fsck -n --verify-data`", seconds), ("reclaim: mark", seconds), ("reclaim: move, CPU time", seconds)),
                 tuple(row(*pair) for pair in sizes_of()))


def limits_table(parameters):
    order = {limit.name: size_met for size_met, limit in volume.first_met(by_name("lnx"), parameters)}
    entries = sorted(volume.limits(parameters), key=lambda limit: order.get(limit.name, float("inf")))
    rows = tuple((limit.name, *(limit.stored_bytes(by_name(name), parameters) for name in SHOWN), limit.effect, limit.remedy)
                 for limit in entries)
    return Table("limits", (("limit", text), *((f"met at, {name}", met_at) for name in SHOWN), ("what happens then", text),
                            ("what helps", text)), rows)


def objects_table(parameters):
    def row(data, stored):
        filled = volume.volume_of(data, stored, parameters)
        objects = bucket.objects_of(filled, parameters)
        return (size(stored), data.name, objects.containers, objects.tables, objects.all, bucket.full_list_bytes(filled, parameters),
                bucket.changes_bytes(data, parameters), bucket.full_lists_bytes_a_day(data, filled, parameters))

    return Table("objects", (("stored", text), ("set", text), ("containers", count), ("tables", count),
                             ("objects", count), ("head with a full list", size), ("head with changes", size),
                             ("full lists a day, while somebody writes", size)), tuple(row(*pair) for pair in sizes_of()))


def object_sizes_table(parameters):
    def row(mib):
        changed = parameters.with_changes(container_bytes=mib * MIB)
        ingest = bucket.ingest_of(by_name("lnx"), TB, changed)
        filled = volume.volume_of(by_name("lnx"), 100 * TB, changed)
        return (f"{mib} MiB", ingest.objects, bucket.puts(ingest.requests, changed), bucket.full_list_bytes(filled, changed),
                mib * MIB / by_name("lnx").stored_bytes_a_second)

    return Table("object-sizes", (("container", text), ("objects for a TB stored", count), ("PUT, $", dollars),
                                  ("full list at 100 TB", size), ("filled in", seconds)), tuple(row(mib) for mib in (1, 4, 16, 64, 256)))


def prices_table(parameters):
    names = ("storage_price", "put_price", "get_price", "egress_price", "retrieval_price")

    def row(name, changes):
        changed = parameters.with_changes(**changes)
        return (name, *(getattr(changed, price) for price in names))

    return Table("prices", (("list", text), ("storage, $ a TB and month", short), ("PUT, $ a thousand", short), ("GET, $ a thousand", short),
                            ("egress, $ a TB", short), ("retrieval, $ a TB", short)),
                 tuple(row(name, changes) for name, changes in PRICE_LISTS.items()))


def costs_table(parameters):
    """For a terabyte of files, and what it takes in containers."""
    block = bucket.blocks(parameters)[2]

    def row(data, logical):
        stored = TB / data.ratio if logical else TB
        ingest = bucket.ingest_of(data, stored, parameters)
        restore = bucket.restore_cost(data, stored, block, parameters)
        inside = bucket.restore_cost(data, stored, block, parameters.with_changes(egress_price=0))
        return ("files" if logical else "stored", data.name, stored, bucket.storage_a_month(stored, parameters), ingest.requests,
                bucket.puts(ingest.requests, parameters), restore, inside)

    rows = [row(by_name("rnd"), False)] + [row(data, True) for data in (*DATA_SETS, *RATIOS)]
    return Table("costs", (("a TB", text), ("set", text), ("in containers", size), ("storage, $ a month", dollars), ("PUTs", count),
                           ("ingest, $", dollars), ("restore over the internet, $", dollars), ("restore within the region, $", dollars)),
                 tuple(rows))


def restore_table(parameters):
    def row(data, block):
        requests = bucket.restore_requests(data, TB, block)
        read = TB * block.over_read
        return (data.name, block.name, requests, read / TB - 1, bucket.gets(requests, parameters), bucket.leaving(read, parameters),
                bucket.restore_cost(data, TB, block, parameters))

    return Table("restore", (("set", text), ("read in units of", text), ("GETs for a TB stored", count), ("read too much", percent),
                             ("GETs, $", dollars), ("egress, $", dollars), ("together, $", dollars)),
                 tuple(row(by_name(name), block) for name in ("rnd", "rds") for block in bucket.blocks(parameters)))


def payback_table(parameters):
    inside = parameters.with_changes(egress_price=0)

    def row(garbage):
        return (garbage, bucket.moved_for_a_byte_freed(garbage), bucket.rewrite_cost(TB, garbage, True, parameters),
                bucket.rewrite_cost(TB, garbage, False, inside), bucket.rewrite_cost(TB, garbage, False, parameters),
                bucket.payback_months(garbage, False, parameters))

    return Table("payback", (("garbage of a container", percent), ("TB moved for each TB freed", short), ("cached: $ a TB freed", dollars),
                             ("read within the region, $", dollars), ("read over the internet, $", dollars),
                             ("pays back in, months", short)),
                 tuple(row(garbage) for garbage in (0.05, 0.1, 0.2, 0.5, bucket.fetched_from(parameters), 0.8)))


def year_table(parameters):
    def row(policy):
        result = year.simulate(policy, parameters)
        return (policy.name, result.stored_tb * TB, result.garbage, result.moved_tb * TB, result.storage, result.requests, result.transfer,
                result.cost)

    return Table("year", (("policy", text), ("stored at the end", size), ("garbage", percent), ("rewritten", size), ("storage, $", dollars),
                          ("requests, $", dollars), ("transfer, $", dollars), ("the year, $", dollars)),
                 tuple(row(policy) for policy in year.policies(parameters)))


def clients_table(parameters):
    commons = (0.05, 0.2, 0.5)
    return Table("clients", (("clients, a shard each", count), *((f"{percent(common)} in common", lambda value: f"{value:.2f}x")
                                                                for common in commons)),
                 tuple((clients, *(writers.size_of_client_shards(clients, common) for common in commons)) for clients in (2, 4, 16, 64)))


def prefixes_table(parameters):
    chunks = round(by_name("lnx").chunks / by_name("lnx").regions)
    sources = 5  # the base with two neighbours on each side: docs/delta.md
    return Table("prefixes", (("shards", count), (f"shards that hold a region of {chunks} chunks", short), ("the same, simulated", short),
                              ("sources of a delta in its shard, of 5", short), ("deltas with all sources in one shard", percent)),
                 tuple((shards, writers.shards_of_a_region(chunks, shards), writers.simulated_shards_of_a_region(chunks, shards),
                        writers.sources_at_home(sources, shards), writers.deltas_in_one_shard(sources, shards)) for shards in (2, 4, 16, 64)))


def far_table(parameters):
    trips = (0.0002, 0.001, 0.005, 0.03)
    at_once = parameters.requests_at_once

    def cells(near, requests, parallel):
        return tuple(writers.far_seconds(near, requests, trip, parallel) / near for trip in trips)

    rows = [(f"containers far away: {write.name}", write.requests, *cells(write.near_seconds, write.requests, at_once),
             write.far_seconds / write.near_seconds) for write in writers.FAR_WRITES]
    near = {write.name: write.near_seconds for write in writers.FAR_WRITES}
    for name in writers.TRIPS:
        requests = writers.far_index_trips(name)
        rows += [(f"index far away: {name}, {parallel} batch{'' if parallel == 1 else 'es'} at once", requests,
                  *cells(near[name], requests, parallel), None) for parallel in (1, 4)]

    def times(value):
        return "" if value is None else f"{value:.1f}x"

    return Table("far", (("245 MB, write and fsync", text), ("waits", count), *((f"{trip * 1000:g} ms", times) for trip in trips),
                         ("measured at 30 ms", times)), tuple(rows))


TABLES = {table.__name__.removesuffix("_table").replace("_", "-"): table for table in (
    data_table, index_table, memory_table, time_table, limits_table, objects_table, object_sizes_table, prices_table, costs_table,
    restore_table, payback_table, year_table, clients_table, prefixes_table, far_table, parameters_table)}


# In a page, between marks


def begin(name):
    return f"<!-- scale-model {name}: begin -->"


def end(name):
    return f"<!-- scale-model {name}: end -->"


def tables_in(page):
    """Name and content between the marks of each table of a page."""
    found = re.findall(r"<!-- scale-model ([a-z-]+): begin -->\n(.*?)\n?<!-- scale-model \1: end -->", page, re.DOTALL)
    return [(name, content.strip("\n")) for name, content in found]


def put_into(page, parameters):
    """The page with its tables as they are now. Its other text stays."""
    for name, _ in tables_in(page):
        before, rest = page.split(begin(name), 1)
        _, after = rest.split(end(name), 1)
        page = f"{before}{begin(name)}\n\n{TABLES[name](parameters).markdown()}\n\n{end(name)}{after}"
    return page
