"""What scripts/bench-peers makes of records: figures, ratios, tables, the drawing. Prints PASS or FAIL for each check."""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))
from peers import figures, plot, tables  # noqa: E402

MB = 10 ** 6
FAILURES = []


def check(name, passed, detail=""):
    print(f"PASS {name}" if passed else f"FAIL {name}: {detail}", flush=True)
    if not passed:
        FAILURES.append(name)


def check_equal(name, expected, actual):
    check(name, expected == actual, f"expected {expected!r}, got {actual!r}")


def step(seconds, cpu_seconds, megabytes=100):
    return {"bytes": megabytes * MB, "seconds": seconds, "cpu_seconds": cpu_seconds}


def record(tool, versions, number=0, data="set", **more):
    """Of versions of 100 MB, each (seconds, CPU seconds)."""
    names = [f"v{place + 1}" for place in range(len(versions))]
    return {"set": data, "names": names, "tool": tool, "label": f"the {tool}", "program": f"{tool} 1.0", "round": number,
            "error": None, "versions": [step(*version) for version in versions], "stored_bytes": 50 * MB, "restore": step(1, 0.1),
            "settled": None, "again": step(0.5, 0.1), "peak_bytes": 30 * MB, **more}


def settled(megabytes, cpu_seconds):
    return {"seconds": 3, "cpu_seconds": cpu_seconds, "stored_bytes": megabytes * MB, "restore": step(0.2, 0.1)}


def failed(tool):
    return {**record(tool, [(1, 1)] * 3), "error": "it broke", "versions": []}


BORG = record("borg", [(2, 1), (1, 0.5), (1, 0.8)])          # 50, 100, 100 MB/s; 10, 5, 8 CPU s/GB
DEDUPFS = record("dedupfs", [(1, 0.8), (0.8, 0.6), (0.25, 0.2)], settled=settled(40, 0.6))  # 100, 125, 400; 8, 6, 2


def cells(lines, label):
    """Of its rows in all tables, one list, without the label."""
    return [cell.strip() for line in lines if line.startswith(f"| {label} |") for cell in line.strip("|").split("|")[1:]]


def check_figures():
    alone = figures.Figures([DEDUPFS])
    check_equal("MB/s of each version", [100, 125, 400], [round(value, 9) for value in alone.mb_per_s])
    check_equal("CPU seconds for a gigabyte of each version", [8, 6, 2], [round(value, 9) for value in alone.cpu_s_per_gb])
    check_equal("the median and the lowest speed", (125, 100), (alone.speed.median, alone.speed.worst))
    check_equal("the median and the highest cost", (6, 8), (round(alone.cost.median, 9), round(alone.cost.worst, 9)))
    check_equal("settling costs CPU time by the data, not by what is stored", 2, round(alone.settling_cpu_s_per_gb, 9))
    check_equal("landed and settled", (50, 40), (alone.stored_mb, alone.settled_mb))

    rounds = [record("borg", [(seconds, 1), (1, 1)], number, stored_bytes=size * MB, peak_bytes=size * MB)
              for number, (seconds, size) in enumerate([(1, 10), (4, 12), (2, 30)])]
    several = figures.Figures(rounds)
    check_equal("a figure of several rounds is their median", [50, 100], several.mb_per_s)
    check_equal("what is stored is the median, too", 12, several.stored_mb)
    check_equal("memory is the highest of the rounds", 30, several.peak_mb)
    check_equal("rounds lie apart as in the version where they do so most", (100 - 25) / 50, several.spread())

    mixed = figures.Figures([DEDUPFS, record("dedupfs", [(1, 1)] * 3, 1)])
    check_equal("a figure that one round lacks is none", (None, None), (mixed.settled_mb, mixed.settling_cpu_s_per_gb))


def check_ratios():
    borg, dedupfs = figures.Figures([BORG]), figures.Figures([DEDUPFS])
    ratios = figures.beside(dedupfs, borg)
    check_equal("speed beside borg is compared version by version", (2, 1.25), (ratios.speed.median, ratios.speed.worst))
    check_equal("cost beside borg is, too", (0.8, 1.2), (round(ratios.cost.median, 9), round(ratios.cost.worst, 9)))
    check_equal("borg beside itself", (1, 1, 1, 1), (*vars(figures.beside(borg, borg).speed).values(),
                                                    *vars(figures.beside(borg, borg).cost).values()))
    check_equal("without borg there are no ratios", (None, None), (figures.beside(dedupfs, None).speed.median,
                                                                 figures.beside(dedupfs, None).restore_speed))
    at_once = figures.Figures([{**BORG, "versions": [step(10, 9, 300)]}])
    check_equal("nor are there of a tool that stores all at once", None, figures.beside(at_once, borg).speed.median)
    check_equal("but of its restore", 1, figures.beside(at_once, borg).restore_speed)
    check_equal("a base that took no time makes no ratio", None, figures.ratio(1, 0.0))


def check_tables():
    lines = list(tables.of_set([DEDUPFS, BORG]))
    check_equal("the heading", "**set: 3 versions, 300 MB, 1 round**", lines[0])
    row = cells(lines, "the dedupfs")
    check_equal("a row of dedupfs", ["50.0", "40.0", "125", "100", "2.00x", "1.25x", "6.00", "8.00", "0.80x", "1.20x", "2.00"], row[:11])
    check_equal("its restore", ["100", "1.00x", "1.00", "1.00x", "500", "200", "30"], row[11:18])
    check_equal("its versions", ["100 (8.00)", "125 (6.00)", "400 (2.00)"], row[18:])
    check_equal("borg has empty cells where it has no figures", ["50.0", "", "100", "50.0", "1.00x"], cells(lines, "the borg")[:5])
    widths = [{line.count("|") for line in block.splitlines()} for block in "\n".join(lines).split("\n\n") if block.startswith("|")]
    check_equal("each table is a rectangle", [{13}, {9}, {5}], widths)

    unsettled = "\n".join(tables.of_set([record("dedupfs", [(1, 1)] * 3), BORG]))
    check("a column without figures is left out", "settl" not in unsettled, unsettled)
    without_base = "\n".join(tables.of_set([DEDUPFS]))
    check("without borg there are no columns beside it", "beside" not in without_base, without_base)

    broken = list(tables.of_set([failed("zpaq"), BORG]))
    check_equal("a tool that failed has a row that says so", "**failed**", cells(broken, "the zpaq")[0])
    check("its error is below the tables", "the zpaq failed: it broke" in broken, broken)
    check_equal("if nothing worked, there are tables all the same", "**set: 3 versions, 1 round**",
                next(iter(tables.of_set([failed("zpaq")]))))
    second = {**failed("borg"), "round": 1}
    check("one round that failed makes the tool fail", "| the borg | **failed** |" in "\n".join(tables.of_set([BORG, second])))

    spread = "\n".join(tables.of_set([BORG, record("borg", [(1, 1), (1, 0.5), (1, 0.8)], 1)]))
    check("several rounds are counted, and how far they lie apart", "2 rounds" in spread and "up to: borg 67%." in spread, spread)
    at_once = list(tables.of_set([{**BORG, "versions": [step(10, 9, 300)]}]))
    check("a tool that stores all at once has one figure for all", "30.0 (30.0) for all" in "\n".join(at_once), at_once)


def check_page():
    page = f"above\n{tables.BEGIN}\nold\n{tables.END}\nbelow\n"
    new = tables.put_into(page, "new\n")
    check_equal("tables take the place between the marks", f"above\n{tables.BEGIN}\n\nnew\n\n{tables.END}\nbelow\n", new)
    check_equal("again and again", new, tables.put_into(new, "new\n"))
    for name, bad in (("no", "text"), ("two", page + page), ("wrong", f"{tables.END} {tables.BEGIN}")):
        try:
            tables.put_into(bad, "new")
            check(f"{name} marks are refused", False, "they were not")
        except ValueError:
            check(f"{name} marks are refused", True)
    text = tables.text("machine", ["kopia (missing)"], [DEDUPFS, BORG, record("borg", [(1, 1)], data="other")])
    check("the text names machine, programs and what is missing",
          text.startswith("machine; dedupfs 1.0, borg 1.0. ") and "Left out: kopia (missing)." in text, text)
    check("each data set has its tables", "**set: " in text and "**other: 1 version, 100 MB" in text, text)


def circles(drawing):
    svg = "{http://www.w3.org/2000/svg}"
    return [(float(circle.get("cx")), float(circle.get("cy")), circle.get("fill")) for circle in drawing.iter(f"{svg}circle")]


def check_plot():
    large = record("a < b", [(4, 1)] * 3, stored_bytes=500 * MB)
    drawing = ElementTree.fromstring(plot.svg([DEDUPFS, BORG, large, failed("zpaq"), record("borg", [(1, 1)], data="other")]))
    points = circles(drawing)
    check_equal("a point for each tool that has figures, and a ring for a settled one", 5, len(points))
    ring, dedupfs, borg, slow, _ = points
    check("less stored is further left", ring[0] < dedupfs[0] == borg[0] < slow[0], points)
    check("faster is higher up", ring[1] == dedupfs[1] < borg[1] < slow[1], points)
    check("all lie within the frame", all(plot.LEFT <= x <= plot.PANEL_WIDTH - plot.RIGHT and
                                          plot.TOP <= y <= plot.PANEL_HEIGHT - plot.BOTTOM for x, y, _ in points), points)
    labels = ["".join(element.itertext()) for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    check("labels name the tools and the sets", {"dedupfs", "borg", "a < b", "set", "other"} <= set(labels), labels)
    check("a tool without figures is not drawn", "zpaq" not in labels, labels)
    check("two panels lie side by side", drawing.get("viewBox") == f"0 0 {2 * plot.PANEL_WIDTH} {plot.PANEL_HEIGHT}")
    check("without any figures there is a drawing all the same", not circles(ElementTree.fromstring(plot.svg([failed("zpaq")]))))
    taken = []
    boxes = [plot.place_label(100, 100, "borg", taken, 340) for _ in range(5)]
    check("labels of one place do not cover each other", len(set(boxes)) == 5 and not any(
        plot.overlap(one, other) for place, one in enumerate(taken) for other in taken[:place]), taken)


def main():
    check_figures()
    check_ratios()
    check_tables()
    check_page()
    check_plot()
    sys.exit(bool(FAILURES))


if __name__ == "__main__":
    main()
