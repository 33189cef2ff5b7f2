"""dedupfs beside other tools, on versions of the same data: scripts/bench-peers."""
from .archives import Casync, Concatenation, PatchChain, Zpaq
from .mounted import Dedupfs, DedupfsWithoutDeltas, S3ql
from .repositories import Borg, Borg8k, Borg64k, Bup, Kopia, Restic, ResticMax, Rustic
from .tool import Failure

__all__ = ["ALL", "Failure"]

ALL = (PatchChain, Concatenation, Dedupfs, DedupfsWithoutDeltas, Borg, Borg64k, Borg8k, Restic, ResticMax, Rustic, Kopia, Bup, S3ql,
       Zpaq, Casync)
