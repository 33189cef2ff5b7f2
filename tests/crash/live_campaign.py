#!/usr/bin/python3
"""Crashes under a live mount: power cuts (a shutdown of the ext4 below) and kills, and what is there afterwards.

Needs root, /dev/fuse and loop devices. Everything happens on a disk in an image file of its own. The last line is
"N cuts, M kills, V violations"; the exit status is 0 only if there was none. A seed gives the same operations again, but not
the same moments.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from live import points  # noqa: E402
from live.campaign import Campaign, Settings  # noqa: E402

ROOM = 1600 << 20  # for the image and what else is made, in memory if it fits there


def place_for_scratch():
    for place in ("/dev/shm", tempfile.gettempdir()):
        if os.path.isdir(place):
            space = os.statvfs(place)
            if space.f_bavail * space.f_frsize > ROOM:
                return place
    return tempfile.gettempdir()


def names_of_points(arguments):
    if arguments.points == "encrypted":
        return points.ENCRYPTED
    return list(points.POINTS) if arguments.encrypted else points.PLAIN


def schedule(arguments, with_points):
    """The crashes in a mixed order: kinds, and crash points for half of the kills, all in turn."""
    names = names_of_points(arguments) if with_points else []
    kills = [None] * arguments.kills
    for i in range(0, arguments.kills, 2):
        kills[i] = names[(i // 2) % len(names)] if names else None
    crashes = [("cut", None)] * arguments.cuts + [("kill", point) for point in kills]
    random.Random(arguments.seed).shuffle(crashes)
    return crashes


def require_means(tools):
    if os.geteuid() != 0:
        sys.exit("live_campaign: needs root, for loop devices, mounts and the shutdown of a filesystem")
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(device):
            sys.exit(f"live_campaign: {device} is missing, no crash can be made here")
    for program in ("dedupfs", "dedupfs-gc", "dedupfs-key", "dedupfs-snapshot", "mkfs.dedupfs", "fsck.dedupfs", "umount.dedupfs"):
        if not os.access(os.path.join(tools, program), os.X_OK):
            sys.exit(f"live_campaign: {tools}/{program} is missing: build it, or say --tools")


def leave_the_mounts_of_others():
    """Whoever makes a mount namespace meanwhile gets a copy of each mount, and the disk below would stay shut down in it after a cut."""
    if os.environ.get("DEDUPFS_LIVE_CAMPAIGN") != "alone":
        os.environ["DEDUPFS_LIVE_CAMPAIGN"] = "alone"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, os.path.abspath(__file__), *sys.argv[1:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=20, help="power cuts")
    parser.add_argument("--kills", type=int, default=20, help="kill -9 of the daemon, half of them at crash points if there are any")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tools", default="build/tools", help="the folder with the programs")
    parser.add_argument("--evidence", default=None, help="where violations are kept (default: a folder in the temporary folder)")
    parser.add_argument("--patience", type=float, default=20, help="seconds that a mount may take")
    parser.add_argument("--encrypted", action="store_true", help="encrypted volumes")
    parser.add_argument("--points", choices=("all", "encrypted"), default="all", help="the crash points: all that such a volume has, or those that no plain one has")
    parser.add_argument("--seconds", type=float, default=None, help="begin no cycle after this time")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each cycle")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = int(time.time())
    if arguments.points == "encrypted" and not arguments.encrypted:
        parser.error("--points encrypted: those are on encrypted volumes, so say --encrypted")
    tools = os.path.abspath(arguments.tools)
    require_means(tools)
    leave_the_mounts_of_others()
    with_points = points.compiled_in(os.path.join(tools, "dedupfs"))
    crashes = schedule(arguments, with_points)
    evidence = arguments.evidence or os.path.join(tempfile.gettempdir(), "dedupfs-crash-evidence")
    scratch = os.path.realpath(tempfile.mkdtemp(prefix="dedupfs-crash.", dir=place_for_scratch()))

    def log(text, always=False):
        if always or arguments.verbose:
            print(text, flush=True)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"live campaign: seed {arguments.seed}, {arguments.cuts} cuts, {arguments.kills} kills, "
          f"{'with' if with_points else 'without'} crash points, in {scratch}", flush=True)  # fmt: skip
    campaign = Campaign(Settings(tools, arguments.seed, scratch, evidence, arguments.patience, log, encrypted=arguments.encrypted))
    begin = last = time.monotonic()
    try:
        campaign.open()
        for number, (kind, point) in enumerate(crashes, 1):
            if arguments.seconds is not None and time.monotonic() - begin > arguments.seconds:
                print(f"stopped after {number - 1} of {len(crashes)} cycles: the time is up", flush=True)
                break
            campaign.run_cycle(kind, point)
            if time.monotonic() - last > 10:
                last = time.monotonic()
                print(f"{number} of {len(crashes)} cycles in {last - begin:.0f} s, {campaign.violations} violations", flush=True)
        for point in sorted(campaign.attempted - campaign.reached):  # the N-th passage did not come; the first must
            campaign.run_cycle("kill", point, first_passage=True)
    finally:
        campaign.close()
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{campaign.operations} operations returned, {campaign.synced} fsyncs acknowledged, {campaign.lost} operations not durable as they "
          f"may be, {campaign.nested} crashes in recovery, {campaign.repairs} in repairs, {campaign.settlings} settlings begun, longest mount {campaign.longest_open:.2f} s, {time.monotonic() - begin:.0f} s")  # fmt: skip
    if campaign.attempted:
        print(f"crash points reached: {len(campaign.reached)} of {len(names_of_points(arguments))}")
    for point in sorted(campaign.attempted - campaign.reached):
        print(f"VIOLATION: crash point {point} was never reached")
        campaign.violations += 1
    print(f"{campaign.cuts} cuts, {campaign.kills} kills, {campaign.violations} violations")
    return 1 if campaign.violations else 0


if __name__ == "__main__":
    sys.exit(main())
