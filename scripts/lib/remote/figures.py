"""Figures of several rounds, under names that are tuples. Who reads one gets the median."""
import collections
import statistics


class Figures:
    def __init__(self):
        self.values = collections.defaultdict(list)

    def add(self, name, **values):
        for what, value in values.items():
            self.values[(*name, what)].append(value)

    def get(self, *name):
        """The median; None if there is no such figure."""
        found = self.values.get(name)
        return statistics.median(found) if found else None

    def below(self, *name):
        """The names that come next, in the order in which they came first."""
        return list(dict.fromkeys(known[len(name)] for known in self.values if known[:len(name)] == name and len(known) > len(name) + 1))
