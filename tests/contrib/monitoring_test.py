#!/usr/bin/env python3
"""The rules and the dashboard in contrib name only metrics that dedupfs-stat writes.

Without an argument it takes the names from the source. With a file of metrics it takes them from there, and checks its form.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/mount/reports/metrics_report.cc"
GOLDEN = ROOT / "tests/mount/reports/golden_metrics.h"
SAMPLE = re.compile(r'(dedupfs_[a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)')


def names_in(text):
    return set(re.findall(r"\bdedupfs_[a-z_]+", text))


def metrics_of(text):
    """The names in the exposition format: each has help and a type in front; each sample comes once; a counter ends in _total."""
    types, names, samples = {}, set(), []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:4]
            assert kind in ("gauge", "counter", "histogram") and (kind == "counter") == name.endswith("_total"), line
            for suffix in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
                types[name + suffix] = kind
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] in types, line
        float(match[3])
        names.add(match[1])
        samples.append(line.rsplit(" ", 1)[0])
    assert len(samples) == len(set(samples)), samples
    assert text.endswith("\n")
    return names


def queries():
    dashboard = json.loads((ROOT / "contrib/grafana/dedupfs.json").read_text())
    for panel in dashboard["panels"]:
        assert panel["targets"], panel["title"]
        # Metrics change every ten minutes where cron writes them: a shorter range would have nothing, then ten times as much.
        has_rate = any("$__rate_interval" in target["expr"] for target in panel["targets"])
        assert not has_rate or panel["interval"] == "20m", panel["title"]
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        yield variable["name"], json.dumps(variable["query"])
    for expression in re.findall(r"expr: (?:>-\n)?((?:.+\n)+?)(?= +(?:for|labels):)",
                                 (ROOT / "contrib/prometheus/dedupfs.rules.yml").read_text()):
        yield "a rule", expression


def main():
    known = names_in(SOURCE.read_text())
    if len(sys.argv) > 1:
        written = metrics_of(pathlib.Path(sys.argv[1]).read_text())
        assert len(written) > 20 and written <= known, written - known
        missing = {name for _, query in queries() for name in names_in(query)} - written
        # Those that come with what a fresh volume lacks: a scrub, a snapshot, a bucket.
        missing = {name for name in missing if not name.startswith(("dedupfs_last_", "dedupfs_remote_"))}
        assert not missing, missing
    # The test of golden_metrics.h sees only what its sample has.
    golden = names_in(re.search(r'R"\((.*?)\)"', GOLDEN.read_text(), re.DOTALL)[1])
    assert {name for name in known if not name.startswith("dedupfs_operation_seconds_")} == golden, known ^ golden
    count = 0
    for place, query in queries():
        unknown = names_in(query) - known
        assert not unknown, f"{place}: {unknown}"
        count += len(names_in(query))
    assert count > 30, count
    print(f"{count} uses of {len(known)} metrics")


main()
