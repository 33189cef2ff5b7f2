"""What scripts/scale-model computes: sums, order, cases that were worked out by hand, and the tables of docs/scale-out.md. Prints PASS or FAIL
for each check."""
import dataclasses
import itertools
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
from scale import bucket, tables, volume, writers, year  # noqa: E402
from scale.data_sets import DATA_SETS, by_name  # noqa: E402
from scale.parameters import CODE, DEFAULTS, GUESS, MEASURED, MIB, PRICE, PRICE_LISTS, TB, Parameters  # noqa: E402

PAGE = ROOT / "docs/scale-out.md"
PROGRAM = ROOT / "scripts/scale-model"
FAILURES = []


def check(name, passed, detail=""):
    print(f"PASS {name}" if passed else f"FAIL {name}: {detail}", flush=True)
    if not passed:
        FAILURES.append(name)


def check_near(name, expected, actual, share=1e-9):
    check(name, math.isclose(expected, actual, rel_tol=share), f"expected {expected!r}, got {actual!r}")


def run(*arguments):
    return subprocess.run([sys.executable, "-B", PROGRAM, *arguments], capture_output=True, text=True, check=False)


# A set of round numbers, for what is worked out by hand: ten chunks of 100 KB in five regions.
ROUND = dataclasses.replace(by_name("rnd"), name="round", logical_bytes=2_000_000, container_bytes=1_000_000, inodes=1, references=20, chunks=10,
                            regions=5, directory_bytes=500, fingerprint_bytes=400, extent_bytes=40, feature_bytes=300, recipe_bytes=60,
                            namespace_bytes=0, checkpoint_bytes=80, verify_seconds=0.002, ingest_bytes_a_second=100e6)


def check_by_hand():
    parameters = Parameters({"index_slack": 1.0})
    filled = volume.volume_of(ROUND, TB, parameters)  # a million times the set
    check_near("by hand: chunks", 10e6, filled.chunks)
    check_near("by hand: index, 800 bytes for ten chunks", 800e6, filled.index_bytes)
    check("by hand: containers of 64 MiB in a terabyte", filled.containers == 14902, filled.containers)
    check("by hand: tables of 64 MiB in 800 MB", volume.tables_of(filled, parameters) == 12, volume.tables_of(filled, parameters))
    # 10 million chunks of 8 bytes, 10 million extents of 52, a million inodes of 100
    check_near("by hand: memory of a check", 80e6 + 520e6 + 100e6, volume.fsck_bytes(filled, parameters))
    check_near("by hand: a scrub at 200 MB/s", 5000, volume.scrub_seconds(filled, 200e6))
    check_near("by hand: filling 2 TB of files at 100 MB/s", 20000, volume.filling_seconds(ROUND, filled))
    # a fifth is garbage, in containers that are half garbage: as much is live beside it
    check_near("by hand: what a reclaim moves", 0.2, volume.moved_share(parameters))
    check_near("by hand: storage of a terabyte", 23.0, bucket.storage_a_month(TB, parameters))
    check_near("by hand: GETs of five regions in each megabyte", 5e6, bucket.restore_requests(ROUND, TB, bucket.blocks(parameters)[0]))
    check_near("by hand: their price, and a terabyte of egress", 5e6 / 1000 * 0.0004 + 90,
               bucket.restore_cost(ROUND, TB, bucket.blocks(parameters)[0], parameters))
    # 14,902 containers, 800 MB of index three and a half times
    tables_shipped = math.ceil(800e6 * parameters.index_shipping / (64 * MIB))
    check("by hand: objects of a terabyte", bucket.ingest_of(ROUND, TB, parameters).objects == 14902 + tables_shipped)
    # 1 TB is freed, 1 TB of live chunks moves; it and half of the garbage are read
    check_near("by hand: rewriting over the internet, half garbage", 14902 / 1000 * 0.005 + 357628 / 1000 * 0.0004 + 1.5 * 90,
               bucket.rewrite_cost(TB, 0.5, False, parameters), 1e-6)
    # $69 of storage in three months pay for the egress of 0.77 TB: as much may be live beside a TB of garbage
    check_near("by hand: what dedupfs fetches to rewrite it", 1 / (1 + 69 / 90), bucket.fetched_from(parameters))
    check_near("by hand: two clients with half in common", 2 / 1.5, writers.size_of_client_shards(2, 0.5))
    check_near("by hand: 1,000 waits of 30 ms, two at once", 1 + 15, writers.far_seconds(1, 1000, 0.03, 2))


def grows(values):
    return all(before <= after for before, after in itertools.pairwise(values))


def check_order():
    parameters = Parameters()
    sizes = [10.0 ** exponent for exponent in range(9, 18)]
    measures = {
        "index": lambda filled: filled.index_bytes, "memory of a check": lambda filled: volume.fsck_bytes(filled, parameters),
        "memory of a reclaim": lambda filled: volume.reclaim_bytes(filled, parameters),
        "filters": lambda filled: volume.filter_memory_bytes(filled, parameters), "mount": lambda filled: volume.mount_seconds(filled, parameters),
        "checkpoint": lambda filled: volume.checkpoint_seconds(filled, parameters), "mark": lambda filled: volume.mark_seconds(filled, parameters),
        "full list": lambda filled: bucket.full_list_bytes(filled, parameters),
    }
    for data in DATA_SETS:
        volumes = [volume.volume_of(data, stored, parameters) for stored in sizes]
        bad = [name for name, measure in measures.items() if not grows([measure(filled) for filled in volumes])]
        check(f"{data.name}: nothing shrinks in a larger volume", not bad, bad)
        limits = {limit.name: limit for limit in volume.limits(parameters)}
        bad = []
        for name, limit in limits.items():
            met = limit.stored_bytes(data, parameters)
            if met is not None and not (limit.measure(volume.volume_of(data, met * 0.999, parameters)) <= limit.most
                                        < limit.measure(volume.volume_of(data, met * 1.001, parameters))):
                bad.append(name)
        check(f"{data.name}: below a limit it is not met, above it is", not bad, bad)
        sizes_met = [met for met, _ in volume.first_met(data, parameters)]
        check(f"{data.name}: limits in the order in which they are met", grows(sizes_met) and sizes_met, sizes_met)
    garbage = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    for is_cached in (True, False):
        months = [bucket.payback_months(share, is_cached, parameters) for share in garbage]
        check(f"more garbage pays back sooner, cached {is_cached}", grows(months[::-1]), months)
    check("what is cached costs less", all(bucket.rewrite_cost(TB, share, True, parameters) < bucket.rewrite_cost(TB, share, False, parameters)
                                           for share in garbage))
    least = bucket.least_garbage(False, parameters)
    check_near("the least garbage pays back just in time", parameters.payback_months, bucket.payback_months(least, False, parameters), 1e-2)
    requests = [bucket.restore_requests(by_name("rnd"), TB, block) for block in bucket.blocks(parameters)[1:]]
    check("larger blocks need fewer requests", grows(requests[::-1]), requests)
    ratios = [writers.size_of_client_shards(clients, 0.2) for clients in (1, 2, 4, 64, 10 ** 9)]
    check("shards: from one volume to all that is not common", grows(ratios) and ratios[0] == 1, ratios)
    check_near("shards: the most that they cost", 1 / 0.8, ratios[-1], 1e-6)


def check_sums():
    parameters = Parameters()
    for data in DATA_SETS:
        filled = volume.volume_of(data, 10 * data.container_bytes, parameters)
        parts = (filled.fingerprint_bytes, filled.extent_bytes, filled.feature_bytes, filled.recipe_bytes, filled.namespace_bytes)
        check_near(f"{data.name}: the parts of an index are the index", 10 * data.index_bytes * parameters.index_slack, sum(parts))
        check_near(f"{data.name}: ten times the files", 10 * data.logical_bytes, filled.logical_bytes)
        check(f"{data.name}: fewer deltas than chunks, chunks than references, regions than chunks",
              data.deltas < data.chunks <= data.references and data.regions < data.chunks)
        # each directory entry has a fingerprint and more: docs/format.md
        check(f"{data.name}: directories have an entry a chunk", data.directory_bytes >= 64 * data.regions + 35 * data.chunks)
        block, whole = bucket.blocks(parameters)[0], bucket.restore_cost(data, TB, bucket.blocks(parameters)[0], parameters)
        check_near(f"{data.name}: a restore is requests and transfer", whole,
                   bucket.gets(bucket.restore_requests(data, TB, block), parameters) + bucket.leaving(TB, parameters))
    objects = bucket.objects_of(volume.volume_of(by_name("rds"), TB, parameters), parameters)
    check("objects are containers and tables", objects.all == objects.containers + objects.tables)
    for data in DATA_SETS:
        filled = volume.volume_of(data, 100 * TB, parameters)
        check(f"{data.name}: a head with a full list is as long as both say", math.isclose(volume.head_bytes(filled, parameters),
              bucket.full_list_bytes(filled, parameters), rel_tol=1e-3))
        check(f"{data.name}: a full list comes at least every so many heads",
              1 <= bucket.heads_a_full_list(data, filled, parameters) <= parameters.most_heads_a_full_list)
    many = volume.volume_of(by_name("rds"), 1000 * TB, parameters)
    check("features stay within their limit", many.feature_bytes <= parameters.feature_index_bytes, many.feature_bytes)
    for chunks, shards in ((16, 4), (40, 16), (40, 64)):
        check_near(f"the formula for {shards} shards and a simulation", writers.shards_of_a_region(chunks, shards),
                   writers.simulated_shards_of_a_region(chunks, shards), 0.02)
    for write in writers.FAR_WRITES:
        computed = writers.far_seconds(write.near_seconds, write.requests, 0.03, parameters.requests_at_once)
        check(f"far away, {write.name}: within 40 % of what was measured", 1 / 1.4 < computed / write.far_seconds < 1.4, computed)


def check_year():
    parameters = Parameters()
    results = {policy.name: year.simulate(policy, parameters) for policy in year.policies(parameters)}
    for name, result in results.items():
        check_near(f"a year, {name}: the parts of the bill", result.cost, result.storage + result.requests + result.transfer)
        check(f"a year, {name}: live bytes are stored", 0 < result.live_tb <= result.stored_tb, result)
    nothing, empty, pays, default, often, cached = results.values()
    live = {round(result.live_tb, 9) for result in results.values()}
    check("a year: no policy loses a live byte", len(live) == 1, live)
    check_near("a year: without deletion, all that came is there", year.DAYS * 0.1, nothing.stored_tb)
    check("a year: who deletes more stores less", nothing.stored_tb >= empty.stored_tb >= pays.stored_tb >= default.stored_tb >= often.stored_tb)
    check("a year: what is cached is not transferred", cached.transfer == 0 and cached.stored_tb == often.stored_tb and cached.cost < often.cost)
    check("a year can be repeated", year.simulate(year.policies(parameters)[4], parameters) == often)


def check_parameters():
    origins = {CODE, MEASURED, PRICE, GUESS}
    bad = [parameter.name for parameter in DEFAULTS if parameter.origin not in origins or not parameter.source]
    check("each parameter says where it comes from", not bad, bad)
    used = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "scripts/lib/scale").glob("*.py") if path.name != "parameters.py")
    bad = [parameter.name for parameter in DEFAULTS if f".{parameter.name}" not in used and f'"{parameter.name}"' not in used]
    check("and is used", not bad, bad)
    for name, changes in PRICE_LISTS.items():
        check(f"the list {name} has prices only", all(Parameters(changes).with_changes() and price.endswith("_price") for price in changes))
    check("a parameter can be changed", Parameters({"put_price": 7}).put_price == 7)


def check_program():
    answer = json.loads(run("--json", "costs", "index", "--set", "storage_price=46").stdout)
    check("--json has the tables that were asked for", list(answer["tables"]) == ["costs", "index"], list(answer["tables"]))
    check("and raw values", answer["tables"]["costs"][0]["storage, $ a month"] == 46.0, answer["tables"]["costs"][0])
    check("and the parameters", answer["parameters"]["storage_price"] == 46.0)
    check("and the date of the prices", answer["prices"] == {"list": "s3-standard", "dated": "2025"}, answer["prices"])
    check("--prices takes another list", json.loads(run("--json", "prices", "--prices", "b2").stdout)["parameters"]["storage_price"] == 6.0)
    check("--help has examples", "scripts/scale-model --json index" in run("--help").stdout)
    for arguments, word in ((["indexes"], "indexes"), (["--set", "put_prise=1"], "put_prise"), (["--set", "put_price"], "name=value"),
                            (["--set", "put_price=-1"], "negative"), (["--set", "put_price=nan"], "negative"),
                            (["--into", "page.md", "index"], "--into")):
        refused = run(*arguments)
        check(f"refused, and says why: {' '.join(arguments)}", refused.returncode == 2 and word in refused.stderr, refused.stderr)


def check_page():
    page = PAGE.read_text(encoding="utf-8")
    shown = tables.tables_in(page)
    check("docs/scale-out.md has each table once", sorted(name for name, _ in shown) == sorted(tables.TABLES), [name for name, _ in shown])
    parameters = Parameters()
    for name, content in shown:
        check(f"the table {name} of the page is what the program prints", content == tables.TABLES[name](parameters).markdown(),
              "run scripts/scale-model --into docs/scale-out.md")
        command = f"scripts/scale-model {name}\n"
        check(f"and the page names its command: {name}", command in page[:page.index(tables.begin(name))])
    check("putting them in again changes nothing", tables.put_into(page, parameters) == page)


def main():
    check_by_hand()
    check_order()
    check_sums()
    check_year()
    check_parameters()
    check_program()
    check_page()
    return 1 if FAILURES else 0


sys.exit(main())
