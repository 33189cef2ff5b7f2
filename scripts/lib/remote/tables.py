"""The Markdown tables of scripts/bench-remote. MB are 10^6 bytes, a MiB 2^20."""

from .runs import BUCKET_COPY, LOCAL_COPY

FAST_AS = 4  # the plain download that a restore is beside


def number(value):
    """Three digits, or more before the point."""
    if value is None:
        return "-"
    return f"{value:.2g}" if 0 < value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def ratio(value, other):
    return f"{value / other:.2f}x" if value is not None and other else "-"


def whole(value):
    return f"{value:,.0f}"


class Row:
    """The figures of one name."""

    def __init__(self, figures, *name):
        self.figures, self.name = figures, name

    def __getitem__(self, what):
        return self.figures.get(*self.name, what)

    def rate(self, what="bytes"):
        """MB/s."""
        return self[what] / self["seconds"] / 1e6 if self[what] and self["seconds"] else None


def table(*columns):
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def plain(figures):
    yield "**The store, by curl**"
    yield ""
    yield from table("delay ms", "objects", "MB", "upload MB/s, one at a time", "4 at once", "download MB/s, one at a time", "4 at once",
                     "MB for each CPU second of the store")
    for delay in figures.below():
        rows = {(way, at_once): Row(figures, delay, "plain", way, at_once) for way in ("upload", "download") for at_once in (1, 4)}
        first, store_cpu = rows["upload", 1], sum(row["store_cpu_seconds"] for row in rows.values())
        yield line(delay, whole(first["objects"]), number(first["bytes"] / 1e6), *(number(row.rate()) for row in rows.values()),
                   number(len(rows) * first["bytes"] / 1e6 / store_cpu))


def ingest(figures):
    yield "**Ingest**: MB/s until `dedupfs-sync` has returned, and beside local"
    yield ""
    yield from table("delay ms", "volume", "new", "near-duplicates", "the first one again", "all", "CPU s", "unmount, s")
    for delay in figures.below():
        for label in figures.below(delay, "ingest"):
            cells = []
            for kind in ("new", "near", "again", "all"):
                here, local = (Row(figures, delay, "ingest", of, kind).rate() for of in (label, "local"))
                cells.append(number(here) + (f" ({ratio(here, local)})" if label != "local" else ""))
            yield line(delay, label, *cells, number(Row(figures, delay, "ingest", label, "all")["cpu_seconds"]),
                       number(Row(figures, delay, "ingest", label, "unmount")["seconds"]))


def shipping(figures):
    yield "**Shipping**: what came before the unmount, and what the unmount shipped. Stored is what the newest head has"
    yield ""
    yield from table("delay ms", "volume", "uploaded MB before", "at the unmount", "at the unmount, MB/s", "beside 4 plain uploads", "PUTs",
                     "other requests", "stored MB", "uploaded / stored")
    for delay in figures.below():
        for label in figures.below(delay, "ingest"):
            shipped, end = Row(figures, delay, "ingest", label, "shipped"), Row(figures, delay, "ingest", label, "unmount")
            if shipped["stored"] is None:
                continue
            plain_rate = Row(figures, delay, "plain", "upload", FAST_AS).rate()
            yield line(delay, label, number((shipped["received"] - end["received"]) / 1e6), number(end["received"] / 1e6),
                       number(end.rate("received")), ratio(end.rate("received"), plain_rate), whole(shipped["PUT"]),
                       whole(shipped["requests"] - shipped["PUT"]), number(shipped["stored"] / 1e6), ratio(shipped["received"], shipped["stored"]))


def unchanged(figures):
    yield "**What has not changed**"
    yield ""
    yield from table("delay ms", "step", "s", "PUTs", "other requests", "uploaded kB", "downloaded kB")
    for delay in figures.below():
        for label in figures.below(delay, "unchanged"):
            row = Row(figures, delay, "unchanged", label)
            yield line(delay, label, number(row["seconds"]), whole(row["PUT"]), whole(row["requests"] - row["PUT"]), number(row["received"] / 1e3),
                       number(row["sent"] / 1e3))


def restore(figures):
    yield "**Restore**: MB/s of what came out, beside the same from a local volume; and of what the store sent, beside 4 plain downloads at once"
    yield ""
    yield from table("delay ms", "step", "s", "CPU s", "MB/s out", "beside local", "MB/s of the store", "beside plain", "GETs", "GETs per MiB stored",
                     "read / stored")
    for delay in figures.below():
        for label in figures.below(delay, "restore"):
            row = Row(figures, delay, "restore", label)
            yield line(delay, label, number(row["seconds"]), number(row["cpu_seconds"]), number(row.rate()),
                       ratio(row.rate(), Row(figures, delay, "restore", LOCAL_COPY).rate()) if label == BUCKET_COPY else "-",
                       number(row.rate("sent")), ratio(row.rate("sent"), Row(figures, delay, "plain", "download", FAST_AS).rate()), whole(row["GET"]),
                       number(row["GET"] / (row["stored"] / 2**20)), ratio(row["sent"], row["stored"]))


def beside(figures):
    yield "**Beside restic and rclone**: each step until the bucket has it"
    yield ""
    yield from table("delay ms", "step", "tool", "MB", "s", "CPU s", "PUTs", "GETs", "other requests", "uploaded MB", "downloaded MB")
    for delay in figures.below():
        for label in figures.below(delay, "beside"):
            for tool in figures.below(delay, "beside", label):
                row = Row(figures, delay, "beside", label, tool)
                yield line(delay, label, tool, number(row["bytes"] / 1e6) if row["bytes"] is not None else "-", number(row["seconds"]),
                           number(row["cpu_seconds"]), whole(row["PUT"]), whole(row["GET"]), whole(row["requests"] - row["PUT"] - row["GET"]),
                           number(row["received"] / 1e6), number(row["sent"] / 1e6))


def text(figures):
    return "\n\n".join("\n".join(part(figures)) for part in (plain, ingest, shipping, unchanged, restore, beside)) + "\n"
