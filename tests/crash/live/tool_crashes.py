"""Crashes of the programs that make and repair volumes. Each takes the campaign whose disk and daemon they are done with."""
import os
import shutil
import signal
import subprocess
import time

from .machine import LOG_FLUSH, NO_LOG_FLUSH, Daemon, Violation, run
from .oracle import History, judge


def mkfs_cycle(campaign, kind, point):
    """A crash while a volume is made leaves a whole one, or none and a place where one can be made."""
    if campaign.daemon.running():
        campaign.stop_daemon()
    place = os.path.join(campaign.disk.folder, "made")
    shutil.rmtree(place, ignore_errors=True)
    maker = Daemon(campaign.settings.tools, place, campaign.mountpoint, campaign.daemon.log, campaign.settings.patience)
    with open(maker.log, "ab") as log:
        environment = dict(os.environ, DEDUPFS_CRASH_AT=point or "")
        making = subprocess.Popen([campaign.tool("mkfs.dedupfs"), *campaign.settings.mkfs_options, place], stdout=log, stderr=log, env=environment)
    if point:
        if making.wait() == -signal.SIGKILL:
            campaign.reached.add(point)
    else:
        time.sleep(campaign.random.random() * 0.08)
    if kind == "cut":
        campaign.disk.cut_power(NO_LOG_FLUSH)
    finished = making.poll() == 0 and kind == "kill"
    making.kill()
    making.wait()
    campaign.reappear(kind)
    output, status = run(campaign.tool("fsck.dedupfs"), "-n", place, check=False)
    none = status == 8 and ("no dedupfs volume" in output or "does not exist" in output)
    # A volume that works, without the first of its two superblocks.
    half = status == 4 and output.count("error:") == 1 and "error: superblock.json:" in output
    if status != 0 and (finished or not (none or half)):
        raise Violation(f"after a crash of mkfs.dedupfs, fsck.dedupfs -n gave {status}: {output}")
    if none:
        shutil.rmtree(place, ignore_errors=True)
        run(campaign.tool("mkfs.dedupfs"), *campaign.settings.mkfs_options, place)
    maker.start("commit=1")
    maker.stop()
    shutil.rmtree(place)
    if campaign.trees is not None:
        campaign.daemon.start(campaign.mount_options)
    return "no volume" if none else "a volume"


def break_index(folder, random):
    """Takes tables from an index that containers can replace. What they say is lost with no repair."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".sst"):
            with open(path, "rb") as file:
                content = file.read()
            # The name of the family stands behind the end of "rocksdb.column.family.name".
            if any(b"name" + family in content for family in (b"chunks", b"fingerprints", b"features")):
                os.unlink(path)
        elif name == "CURRENT" and random.random() < 0.3:
            os.unlink(path)


def repair_cycle(campaign, kind):
    """A repair that crashes, perhaps again and again: the next one brings everything back."""
    if campaign.daemon.running():
        campaign.stop_daemon()
    place = os.path.join(campaign.disk.folder, "repaired")
    shutil.rmtree(place, ignore_errors=True)
    run("cp", "-a", "--sparse=always", campaign.volume, place)
    break_index(os.path.join(place, "index"), campaign.random)
    run("sync", "-f", place)
    crashes = campaign.random.randrange(1, 4)
    for _ in range(crashes):
        with open(campaign.daemon.log, "ab") as log:
            repair = subprocess.Popen([campaign.tool("fsck.dedupfs"), "-y", place], stdout=log, stderr=log)
        time.sleep(campaign.random.random() * campaign.repair_seconds)
        if kind == "cut":
            campaign.disk.cut_power(campaign.random.choice((NO_LOG_FLUSH, NO_LOG_FLUSH, LOG_FLUSH)))
        repair.kill()
        repair.wait()
        campaign.reappear(kind)
    begin = time.monotonic()
    output, status = run(campaign.tool("fsck.dedupfs"), "-y", place, timeout=6 * campaign.settings.patience, check=False)
    campaign.repair_seconds = 1.2 * (time.monotonic() - begin)
    if status not in (0, 1):
        raise Violation(f"after {crashes} crashes of fsck.dedupfs -y the next one gave {status}: {output[-2000:]}")
    output, status = run(campaign.tool("fsck.dedupfs"), "-y", "--verify-data", place, timeout=6 * campaign.settings.patience, check=False)
    if status != 0:
        raise Violation(f"fsck.dedupfs -y after a repair gave {status}: {output[-2000:]}")
    repaired = Daemon(campaign.settings.tools, place, campaign.mountpoint, campaign.daemon.log, campaign.settings.patience)
    repaired.start("commit=1")
    histories = [History(f"{campaign.settings.seed} {campaign.cycle} w{n}", tree) for n, tree in enumerate(campaign.trees)]
    verdict = judge(campaign.mountpoint, histories, campaign.cut_at)
    repaired.stop()
    repaired.clear()
    shutil.rmtree(place)
    if verdict.violations:
        raise Violation("after a repair: " + "\n".join(verdict.violations))
    campaign.repairs += crashes
    campaign.daemon.start(campaign.mount_options)
    return f"{crashes} crashes of a repair"
