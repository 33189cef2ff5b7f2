"""The crash points of the code (src/base/crash_point.h), by what leads there."""
import os
import re

AT_WORK, WITH_BULK, WITH_RECLAIM, WITH_SNAPSHOTS = "work", "bulk", "reclaim", "snapshots"
AT_ROLLBACK, AT_MOUNT, AT_UNMOUNT, AT_MKFS = "rollback", "mount", "unmount", "mkfs"
WITH_NEW_KEY = "new key"  # of an encrypted volume

POINTS = {
    "mkfs.folder-made": AT_MKFS,
    "mkfs.index-made": AT_MKFS,
    "superblock.copy-written": AT_MKFS,
    "mkfs.superblock-written": AT_MKFS,
    "ids.reserved": AT_WORK,
    "container.created": AT_WORK,
    "container.appended": AT_WORK,
    "container.sealed": WITH_BULK,
    "commit.frozen": AT_WORK,
    "commit.regions-written": AT_WORK,
    "commit.containers-synced": AT_WORK,
    "commit.index-written": AT_WORK,
    "commit.dropped": AT_WORK,
    "checkpoint.written": AT_WORK,
    "checkpoint.synced": AT_WORK,
    "checkpoint.renamed": AT_WORK,
    "checkpoint.older-removed": AT_WORK,
    "orphan.deleted": AT_WORK,
    "reclaim.rebased": WITH_RECLAIM,
    "reclaim.marked": WITH_RECLAIM,
    "reclaim.erased": WITH_RECLAIM,
    "reclaim.evacuated": WITH_RECLAIM,
    "snapshot.created": WITH_SNAPSHOTS,
    "snapshot.deleted": WITH_SNAPSHOTS,
    "snapshot.swept": WITH_SNAPSHOTS,
    "snapshot.rolled-back": AT_ROLLBACK,
    "mount.locked": AT_MOUNT,
    "mount.index-open": AT_MOUNT,
    "mount.committed": AT_MOUNT,
    "unmount.committed": AT_UNMOUNT,
    "unmount.index-flushed": AT_UNMOUNT,
    # On encrypted volumes only.
    "file.map-written": AT_WORK,
    "mount.list-removed": AT_MOUNT,
    "mount.list-without-end": AT_MOUNT,
    "mount.list-half-written": AT_MOUNT,
    "mount.list-written": AT_MOUNT,
    "unmount.ends-synced": AT_UNMOUNT,
    "unmount.list-removed": AT_UNMOUNT,
    "unmount.list-without-end": AT_UNMOUNT,
    "unmount.list-half-written": AT_UNMOUNT,
    "unmount.list-written": AT_UNMOUNT,
    "superblock.repaired": WITH_NEW_KEY,
    "rotation.list-copied": WITH_NEW_KEY,
    "rotation.header-written": WITH_NEW_KEY,
    "mount.small-file-sealed": WITH_NEW_KEY,
    "unmount.keys-forgotten": WITH_NEW_KEY,
}
_names = list(POINTS)
ENCRYPTED = _names[_names.index("file.map-written"):]
PLAIN = [name for name in _names if name not in ENCRYPTED]

# Passed once in the life of a daemon or hardly more often.
ONCE = {"snapshot.swept", "ids.reserved", "container.created", "container.sealed"} | {name for name in POINTS if name.startswith("checkpoint.")}


def mount_options(point):
    """What a mount must have to pass there soon."""
    return ",checkpoint=1" if point.startswith("checkpoint.") else ""


def compiled_in(program):
    with open(program, "rb") as file:
        return b"DEDUPFS_CRASH_AT" in file.read()


def in_sources(folder):
    found = set()
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith((".cc", ".h")):
                with open(os.path.join(place, name), encoding="utf-8") as file:
                    for call in re.findall(r"crash_point\(([^;]*)\);", file.read()):
                        found.update(re.findall(r'"([^"]+)"', call))
    return found
