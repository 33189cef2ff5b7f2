"""The Markdown tables of scripts/bench-peers. A column in which no tool has a figure is left out."""
import textwrap

from . import figures

BEGIN, END = "<!-- bench-peers: tables begin -->", "<!-- bench-peers: tables end -->"


def megabytes(value):
    return f"{value:,.1f}"


def short(value):
    """Three digits, or more before the point."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def times(value):
    return f"{value:.2f}x"


def prose(sentences):
    """As wide as docs/ is."""
    return textwrap.fill(sentences, 100, break_long_words=False, break_on_hyphens=False)


def column(heading, form, value):
    """The value is found by a function of the row."""
    return heading, lambda row: "" if value(row) is None else form(value(row))


STORING = (
    column("stored MB", megabytes, lambda row: row.figures.stored_mb),
    column("settled MB", megabytes, lambda row: row.figures.settled_mb),
    column("MB/s, median", short, lambda row: row.figures.speed.median),
    column("lowest", short, lambda row: row.figures.speed.worst),
    column("beside borg, median", times, lambda row: row.beside.speed.median),
    column("lowest", times, lambda row: row.beside.speed.worst),
    column("CPU s/GB, median", short, lambda row: row.figures.cost.median),
    column("highest", short, lambda row: row.figures.cost.worst),
    column("beside borg, median", times, lambda row: row.beside.cost.median),
    column("highest", times, lambda row: row.beside.cost.worst),
    column("settling, CPU s/GB", short, lambda row: row.figures.settling_cpu_s_per_gb),
)

RESTORING = (
    column("restore MB/s", short, lambda row: row.figures.restore_mb_per_s),
    column("beside borg", times, lambda row: row.beside.restore_speed),
    column("CPU s/GB", short, lambda row: row.figures.restore_cpu_s_per_gb),
    column("beside borg", times, lambda row: row.beside.restore_cost),
    column("restore MB/s, settled", short, lambda row: row.figures.settled_restore_mb_per_s),
    column("stored again, MB/s", short, lambda row: row.figures.again_mb_per_s),
    column("memory MB", "{:,.0f}".format, lambda row: row.figures.peak_mb),
)


def of_versions(count):
    """A column for each version. A tool that stores all at once has its one figure in the first."""

    def cell(row, number):
        if row.figures.at_once:
            return f"{pair(row, 0)} for all" if number == 0 else ""
        return pair(row, number)

    def pair(row, number):
        return f"{short(row.figures.mb_per_s[number])} ({short(row.figures.cpu_s_per_gb[number])})"

    return [(f"version {number + 1}", lambda row, number=number: cell(row, number)) for number in range(count)]


def table(columns, rows):
    """Lines. A tool that failed has a row that says so."""
    cells = {row.key: None if row.error else [show(row) for _, show in columns] for row in rows}
    shown = [number for number in range(len(columns)) if any(line and line[number] for line in cells.values())]
    yield "| tool | " + "".join(f"{columns[number][0]} | " for number in shown).rstrip()
    yield "|---" * (1 + len(shown)) + "|"
    for row in rows:
        line = [cells[row.key][number] for number in shown] if cells[row.key] else ["**failed**"] + [""] * (len(shown) - 1)
        yield f"| {row.label} | " + " | ".join(line) + " |"


def heading(records):
    names, measured = records[0]["names"], next((record for record in records if not record["error"]), None)
    size = f", {sum(step['bytes'] for step in measured['versions']) / 1e6:,.0f} MB" if measured else ""
    rounds = len({record["round"] for record in records})
    return (f"{records[0]['set']}: {len(names)} version{'s' if len(names) > 1 else ''}{size}, "
            f"{rounds} round{'s' if rounds > 1 else ''}")


def of_set(records):
    """Lines: the tables of one data set."""
    rows = figures.rows(records)
    yield f"**{heading(records)}**"
    for columns in (STORING, RESTORING):
        yield ""
        yield from table(columns, rows)
    yield ""
    yield "MB/s, and in parentheses CPU s/GB:"
    yield ""
    yield from table(of_versions(len(records[0]["names"])), rows)
    spreads = [f"{row.key} {row.figures.spread():.0%}" for row in rows if row.figures and len(row.figures.records) > 1]
    if spreads:
        yield ""
        yield prose(f"MB/s of a version lies apart between rounds by up to: {', '.join(spreads)}.")
    for row in rows:
        if row.error:
            yield ""
            yield f"{row.label} failed: {row.error}"


def text(machine, left_out, records):
    """All of it: what it ran on, then the tables of each data set."""
    programs = ", ".join(dict.fromkeys(record["program"] for record in records))
    lines = [prose(f"{machine}; {programs}. Every version restored and compared.")]
    if left_out:
        lines += ["", prose(f"Left out: {', '.join(left_out)}.")]
    for of_one in figures.by_set(records).values():
        lines += ["", *of_set(of_one)]
    return "\n".join(lines) + "\n"


def put_into(page, tables):
    """The text of a page, with the tables between its two marks in place of what was there."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"there is no single place between {BEGIN} and {END}")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables.strip()}\n\n{END}{rest.split(END)[1]}"
