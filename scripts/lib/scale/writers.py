"""Many writers: shards by client, shards by fingerprint, an index behind a network."""
import dataclasses
import random


def size_of_client_shards(clients, common):
    """Beside one volume for all, if `common` is the share of each client's unique data that all others have, too."""
    return clients / (clients * (1 - common) + common)


def shards_of_a_region(chunks, shards):
    """In how many of the shards the chunks of one region would lie, if their fingerprints chose."""
    return shards * (1 - (1 - 1 / shards) ** chunks)


def sources_at_home(sources, shards):
    """Of the sources of a delta, those in the shard of the chunk, on average."""
    return sources / shards


def deltas_in_one_shard(sources, shards):
    """The share of deltas all of whose sources are in the shard of the chunk."""
    return shards ** -sources


def simulated_shards_of_a_region(chunks, shards, regions=2000, seed=1):
    dice = random.Random(seed)
    return sum(len({dice.randrange(shards) for _ in range(chunks)}) for _ in range(regions)) / regions


@dataclasses.dataclass(frozen=True)
class FarWrite:
    """A file of 245 MB, written and synced, containers behind a network. Measured: seconds near and far, requests."""

    name: str
    near_seconds: float
    requests: int
    far_seconds: float


FAR_WRITES = (
    FarWrite("a duplicate", 0.21, 512, 8.7),
    FarWrite("a duplicate, blocks of 512 KiB", 0.21, 96, 2.6),
    FarWrite("a near-duplicate", 1.6, 1088, 27.7),
)
FILE_BYTES = 245e6


def far_seconds(near_seconds, requests, round_trip, at_once):
    return near_seconds + requests * round_trip / at_once


BATCH_BYTES = 1 << 20  # docs/write-path.md: one batch for each block
# Look-ups that need each other's answers: fingerprints; places of what was found, or candidates for bases; the bases' places.
TRIPS = {"a duplicate": 2, "a near-duplicate": 3}


def far_index_trips(name):
    return -(-FILE_BYTES // BATCH_BYTES) * TRIPS[name]
