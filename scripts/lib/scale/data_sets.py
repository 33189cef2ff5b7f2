"""What was measured of real data: volumes of all versions of a set, settled, by scripts/bench-index.

lnx: the settling was ended before its last container was empty, so garbage is left out of its sizes by the share of its chunks. Its time of
a verification is that of docs/benchmarks.md, "After a crash", for a volume of the same kind: 50 s for a GB.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class DataSet:
    name: str
    what: str
    logical_bytes: int
    container_bytes: int
    inodes: int
    references: int  # of files to chunks
    chunks: int
    deltas: int
    regions: int
    directory_bytes: int  # of regions, with their headers
    fingerprint_bytes: int
    extent_bytes: int
    feature_bytes: int
    recipe_bytes: int
    namespace_bytes: int
    checkpoint_bytes: int
    verify_seconds: float
    # Not of scripts/bench-index, but of docs/benchmarks.md, on two cores:
    ingest_bytes_a_second: float  # of files: "Beside other tools", median; rnd: "Memory"; vm: a guess
    settling_seconds_a_gb: float  # processor time for a GB in containers: "Aims of ingest"; vm: "Encryption", plain; rnd: a guess

    @property
    def ratio(self):
        return self.logical_bytes / self.container_bytes

    @property
    def stored_bytes_a_second(self):
        """What a writer adds to the containers."""
        return self.ingest_bytes_a_second / self.ratio

    @property
    def index_bytes(self):
        return self.fingerprint_bytes + self.extent_bytes + self.feature_bytes + self.recipe_bytes + self.namespace_bytes

    def feature_keys(self, parameters):
        return min(self.feature_bytes / parameters.feature_bytes_a_key, parameters.super_features * self.chunks)


DATA_SETS = (
    DataSet(name="rnd", what="random bytes", logical_bytes=500000000, container_bytes=500560546, inodes=2, references=13389, chunks=13389,
            deltas=0, regions=993, directory_bytes=559522, fingerprint_bytes=499824, extent_bytes=48653, feature_bytes=482381,
            recipe_bytes=39094, namespace_bytes=3493, checkpoint_bytes=37606, verify_seconds=0.75, ingest_bytes_a_second=561e6,
            settling_seconds_a_gb=5),
    DataSet(name="lnx", what="3 tars of Linux sources", logical_bytes=4281733120, container_bytes=245926270, inodes=4, references=98328,
            chunks=76642, deltas=42707, regions=3228, directory_bytes=3593698, fingerprint_bytes=2855358, extent_bytes=473031,
            feature_bytes=1223985, recipe_bytes=295463, namespace_bytes=3718, checkpoint_bytes=219006, verify_seconds=12.3,
            ingest_bytes_a_second=389e6, settling_seconds_a_gb=54),
    DataSet(name="rds", what="5 dumps of Redis", logical_bytes=1227801671, container_bytes=59720195, inodes=6, references=30921,
            chunks=27846, deltas=21533, regions=523, directory_bytes=1318576, fingerprint_bytes=1048348, extent_bytes=171994,
            feature_bytes=326639, recipe_bytes=99190, namespace_bytes=3687, checkpoint_bytes=95344, verify_seconds=5.41,
            ingest_bytes_a_second=404e6, settling_seconds_a_gb=41),
)


def of_ratio(name, logical_bytes, container_bytes):
    """A set of which docs/benchmarks.md has the sizes and nobody has counted the chunks: what lies in its containers is that of rds."""
    return dataclasses.replace(by_name("rds"), name=name, logical_bytes=by_name("rds").container_bytes * logical_bytes / container_bytes)


def by_name(name):
    return next(data for data in DATA_SETS if data.name == name)


# Settled MB, of "Beside other tools" and "Aims of ingest", index included.
RATIOS = (of_ratio("pg", 1538, 25.2), of_ratio("vm", 4194, 204.0))
