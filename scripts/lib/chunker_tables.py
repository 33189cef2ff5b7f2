"""Markdown tables of the records that dedupfs-bench writes with --json: python3 chunker_tables.py RECORDS.json"""
import json
import sys

ISAS = ["scalar", "sse4.1", "avx2", "avx512", "avx512-gather", "neon", "vsx"]


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|---" * len(header) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def size(avg):
    return f"{avg >> 10}k" if avg % 1024 == 0 else str(avg)


def unique(values):
    return list(dict.fromkeys(values))


def main(path):
    with open(path, encoding="utf-8") as file:
        records = json.load(file)["records"]
    names = unique(r["label"] for r in records)
    inputs = unique(r["input"] for r in records)
    averages = sorted({r["avg"] for r in records})
    found = {(r["label"], r["avg"], r["input"], r["isa"]): r for r in records}

    def any_isa(name, avg, source):
        return next((found[name, avg, source, isa] for isa in ISAS if (name, avg, source, isa) in found), None)

    print("Space saved, % (mean chunk size, KiB)\n")
    rows = []
    for name in names:
        row = [f"`{name}`"]
        for source in inputs:
            for avg in averages:
                record = any_isa(name, avg, source)
                row.append(f"{record['savings_percent']:.1f} ({record['mean_chunk'] / 1024:.1f})" if record else "")
        rows.append(row)
    table(["chunker"] + [f"{source} {size(avg)}" for source in inputs for avg in averages], rows)

    for source in inputs:
        for avg in averages:
            isas = [isa for isa in ISAS if any((name, avg, source, isa) in found for name in names)]
            limit = max(r["read_limit_gb_per_s"] for r in records if r["input"] == source and r["avg"] == avg)
            print(f"Throughput, {source}, {size(avg)}, GB/s (times scalar); reading alone {limit:.0f}\n")
            rows = []
            for name in names:
                row = [f"`{name}`"]
                for isa in isas:
                    record = found.get((name, avg, source, isa))
                    row.append("" if record is None else
                               f"{record['gb_per_s']:.2f}" if isa == "scalar" else
                               f"{record['gb_per_s']:.1f} ({record['speedup_over_scalar']:.1f})")
                rows.append(row)
            table(["chunker"] + isas, rows)


if __name__ == "__main__":
    main(sys.argv[1])
