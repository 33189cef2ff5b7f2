"""A year of a volume in an object store, day by day: what comes, what dies, what a policy of reclaim rewrites, what all that costs.

Containers consist of pieces, and each piece has a day on which the last file drops it. The dice have a seed: a run can be repeated.
"""
import collections
import dataclasses
import random

from . import bucket
from .parameters import TB

PIECES = 16  # of a container
DAYS = 365
CONTAINERS_A_DAY = 16
RETENTION_DAYS = 30
# GUESS: of the bytes of a container, those that go with the backup that brought them; and half of the rest after half a year.
SHORT_LIVED = (0.1, 0.5, 0.9)
HALF_LIFE_DAYS = 180


@dataclasses.dataclass(frozen=True)
class Policy:
    name: str
    least_garbage: float  # containers are rewritten from this share of garbage on; 1: empty ones go, no other
    is_cached: bool


def policies(parameters):
    away = bucket.least_garbage(False, parameters)
    return (
        Policy("nothing is deleted", 2.0, False),
        Policy("empty containers are dropped", 1.0, False),
        Policy("rewritten if that pays back, not cached", 1.0 if away is None else away, False),
        Policy("rewritten as dedupfs does, not cached", bucket.fetched_from(parameters), False),
        Policy("rewritten from 20 % of garbage on, not cached", 0.2, False),
        Policy("rewritten from 20 % of garbage on, cached", 0.2, True),
    )


@dataclasses.dataclass
class Year:
    stored_tb: float = 0.0
    live_tb: float = 0.0
    moved_tb: float = 0.0
    storage: float = 0.0
    requests: float = 0.0
    transfer: float = 0.0

    @property
    def cost(self):
        return self.storage + self.requests + self.transfer

    @property
    def garbage(self):
        return 1 - self.live_tb / self.stored_tb


def death_day(day, short_lived, dice):
    if dice.random() < short_lived:
        return day + RETENTION_DAYS
    return day + RETENTION_DAYS + int(dice.expovariate(0.693 / HALF_LIFE_DAYS))


def new_containers(day, dice):
    for _ in range(CONTAINERS_A_DAY):
        short_lived = dice.choice(SHORT_LIVED)
        yield [death_day(day, short_lived, dice) for _ in range(PIECES)]


class Stored:
    """The containers that are there. Only those of which a piece dies are looked at."""

    def __init__(self):
        self.pieces = 0  # live ones and garbage
        self.live = 0
        self._by_number = {}
        self._by_death = collections.defaultdict(list)  # numbers of containers, once for each piece
        self._next = 0

    def add(self, deaths):
        self._by_number[self._next] = deaths
        for death in deaths:
            self._by_death[death].append(self._next)
        self._next += 1
        self.pieces += len(deaths)
        self.live += len(deaths)

    def remove(self, number, live):
        self.pieces -= len(self._by_number.pop(number))
        self.live -= live

    def die(self, day):
        """The containers that lose pieces on this day: number, pieces, and the days of those that are left."""
        losing = dict.fromkeys(number for number in self._by_death.pop(day, ()) if number in self._by_number)
        for number in losing:
            deaths = self._by_number[number]
            self.live -= deaths.count(day)
            yield number, len(deaths), [death for death in deaths if death > day]


def simulate(policy, parameters, tb_a_day=0.1, seed=1):
    """`tb_a_day` of new bytes in containers each day. The containers of the model are larger than real ones; requests are counted for real
    ones."""
    dice = random.Random(seed)
    container_tb = tb_a_day / CONTAINERS_A_DAY
    piece_tb = container_tb / PIECES
    real_containers = container_tb * TB / parameters.container_bytes  # in one of the model
    year = Year()
    stored = Stored()
    for day in range(DAYS):
        for deaths in new_containers(day, dice):
            stored.add(deaths)
        year.requests += bucket.puts(CONTAINERS_A_DAY * real_containers + bucket.heads_a_day(parameters), parameters)
        moved = []
        for number, pieces, live in list(stored.die(day)):
            garbage = 1 - len(live) / pieces
            if garbage < policy.least_garbage:
                continue
            stored.remove(number, len(live))
            moved += live
            year.moved_tb += len(live) * piece_tb
            if live and not policy.is_cached:
                read = bucket.read_for_a_rewrite(len(live), pieces - len(live), parameters) * piece_tb * TB
                year.requests += bucket.gets(read / (4 << 20), parameters)
                year.transfer += bucket.leaving(read, parameters)
        moved.sort()
        written = [moved[at:at + PIECES] for at in range(0, len(moved), PIECES)]
        for deaths in written:
            stored.add(deaths)
        year.requests += bucket.puts(len(written) * real_containers, parameters)
        year.storage += bucket.storage_a_month(stored.pieces * piece_tb * TB, parameters) * 12 / 365
    year.stored_tb = stored.pieces * piece_tb
    year.live_tb = stored.live * piece_tb
    return year
