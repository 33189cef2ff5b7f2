"""The arithmetic of scripts/bench-peers: from the records of measurement.py to the figures in its tables.

A figure that several rounds measured is their median. MB are 10^6 bytes, GB 10^9. A figure that a tool does not have is None.
"""
import dataclasses
import statistics

BASE = "borg"  # the tool that the others are compared with


def mb_per_s(step):
    return step["bytes"] / 1e6 / step["seconds"]


def cpu_s_per_gb(step):
    return step["cpu_seconds"] / (step["bytes"] / 1e9)


def median(values):
    """None if there is none, or one of them is None."""
    values = list(values)
    return None if not values or None in values else statistics.median(values)


def ratio(one, other):
    return None if one is None or not other else one / other


@dataclasses.dataclass
class Extremes:
    """Of the versions of a data set. The worst is the lowest speed, or the highest cost."""
    median: float | None = None
    worst: float | None = None


def extremes(values, worst):
    return Extremes(median(values), worst(values)) if values and None not in values else Extremes()


class Figures:
    """One tool on one data set. `records` are those of its rounds, at least one, none with an error."""

    def __init__(self, records):
        self.records = records
        self.at_once = len(records[0]["versions"]) != len(records[0]["names"])
        steps = list(zip(*(record["versions"] for record in records)))  # of each version, all rounds
        self.mb_per_s = [median(map(mb_per_s, rounds)) for rounds in steps]
        self.cpu_s_per_gb = [median(map(cpu_s_per_gb, rounds)) for rounds in steps]
        self.speed = extremes(self.mb_per_s, min)
        self.cost = extremes(self.cpu_s_per_gb, max)
        self.logical_mb = sum(step["bytes"] for step in records[0]["versions"]) / 1e6
        self.stored_mb = self.over_rounds(lambda record: record["stored_bytes"] / 1e6)
        self.restore_mb_per_s = self.over_rounds(lambda record: mb_per_s(record["restore"]))
        self.restore_cpu_s_per_gb = self.over_rounds(lambda record: cpu_s_per_gb(record["restore"]))
        self.again_mb_per_s = self.over_rounds(lambda record: record["again"] and mb_per_s(record["again"]))
        self.peak_mb = max(record["peak_bytes"] for record in records) / 1e6
        self.settled_mb = self.over_settled(lambda settled: settled["stored_bytes"] / 1e6)
        self.settling_cpu_s_per_gb = self.over_settled(lambda settled: settled["cpu_seconds"] / (self.logical_mb / 1e3))
        self.settled_restore_mb_per_s = self.over_settled(lambda settled: mb_per_s(settled["restore"]))

    def over_rounds(self, figure):
        return median(map(figure, self.records))

    def over_settled(self, figure):
        return self.over_rounds(lambda record: record["settled"] and figure(record["settled"]))

    def spread(self):
        """How far rounds lie apart: of the version where they lie apart most, (highest - lowest) / median of its MB/s."""
        apart = []
        for rounds in zip(*(record["versions"] for record in self.records)):
            speeds = [mb_per_s(step) for step in rounds]
            apart.append((max(speeds) - min(speeds)) / statistics.median(speeds))
        return max(apart)


@dataclasses.dataclass
class Beside:
    """The ratios of a tool to another one: those of speed and cost are taken version by version."""
    speed: Extremes
    cost: Extremes
    restore_speed: float | None
    restore_cost: float | None


def beside(tool, base):
    """Figures of both; the base may be None. There are no ratios of versions if one of them stores all at once."""
    if base is None:
        return Beside(Extremes(), Extremes(), None, None)

    def by_version(of_tool, of_base, worst):
        return Extremes() if tool.at_once or base.at_once else extremes([*map(ratio, of_tool, of_base)], worst)

    return Beside(by_version(tool.mb_per_s, base.mb_per_s, min), by_version(tool.cpu_s_per_gb, base.cpu_s_per_gb, max),
                  ratio(tool.restore_mb_per_s, base.restore_mb_per_s), ratio(tool.restore_cpu_s_per_gb, base.restore_cpu_s_per_gb))


@dataclasses.dataclass
class Row:
    """A tool on a data set: its figures, or why it has none."""
    key: str
    label: str
    figures: Figures | None
    beside: Beside | None
    error: str | None


def rows(records):
    """Of one data set, a row for each tool, in the order of first appearance. A round that failed makes the tool fail."""
    by_tool = {}
    for record in records:
        by_tool.setdefault(record["tool"], []).append(record)
    errors = {key: next((record["error"] for record in rounds if record["error"]), None) for key, rounds in by_tool.items()}
    figures = {key: None if errors[key] else Figures(rounds) for key, rounds in by_tool.items()}
    return [Row(key, rounds[0]["label"], figures[key], figures[key] and beside(figures[key], figures.get(BASE)), errors[key])
            for key, rounds in by_tool.items()]


def by_set(records):
    """{data set: its records}."""
    sets = {}
    for record in records:
        sets.setdefault(record["set"], []).append(record)
    return sets
