"""Crashes of the programs that make and repair volumes. Each takes the campaign whose disk and daemon they are done with."""
import json
import os
import re
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


class KeyedVolume:
    """A small encrypted volume that gets a new master key."""

    def __init__(self, campaign):
        self.campaign = campaign
        self.place = os.path.join(campaign.disk.folder, "keyed")
        shutil.rmtree(self.place, ignore_errors=True)
        self.old, self.new = (os.path.join(campaign.settings.scratch, name) for name in ("old-key", "new-key"))
        for path in (self.old, self.new):
            with open(path, "w", encoding="ascii") as file:
                file.write(f"{path} {campaign.settings.seed} {campaign.cycle}\n")
        run(campaign.tool("mkfs.dedupfs"), "--encrypt", "--kdf-memory", "8m", "--key-file", self.old, self.place)
        self.daemon = Daemon(campaign.settings.tools, self.place, campaign.mountpoint, campaign.daemon.log, campaign.settings.patience)
        self.content = campaign.random.randbytes(200_000)
        self.file = os.path.join(campaign.mountpoint, "file")
        self.start(self.old)
        with open(self.file, "wb") as file:
            file.write(self.content)
        self.stop()

    def start(self, key, crash_at=None):
        """False: it died at its crash point."""
        return self.daemon.start(f"commit=1,key_file={key}", crash_at)

    def stop(self, crash_at=None):
        ended = self.daemon.stop(crash_at)
        self.daemon.clear()
        return ended

    def change_something(self, number):
        with open(os.path.join(self.campaign.mountpoint, f"more{number}"), "wb") as file:
            file.write(self.campaign.random.randbytes(10_000))

    def judge(self):
        with open(self.file, "rb") as file:
            if file.read() != self.content:
                raise Violation("a file of before the new master key has other content")

    def rotate(self, crash_at, kind):
        command = [self.campaign.tool("dedupfs-key"), "rotate", "--key-file", self.old, "--new-key-file", self.new, "--kdf-memory", "8m", self.place]
        with open(self.daemon.log, "ab") as log:
            rotation = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ, DEDUPFS_CRASH_AT=crash_at or ""))
        if crash_at:
            if rotation.wait() == -signal.SIGKILL:
                self.campaign.reached.add(crash_at)
        else:
            time.sleep(self.campaign.random.random() * 0.3)
        if kind == "cut":
            self.campaign.disk.cut_power(NO_LOG_FLUSH)
        finished = rotation.poll() == 0 and kind == "kill"
        rotation.kill()
        rotation.wait()
        self.campaign.reappear(kind)
        return finished

    def key_that_opens(self):
        """The one of the two that does, with a volume that fsck.dedupfs finds whole."""
        found = []
        for key in (self.old, self.new):
            output, status = run(self.campaign.tool("fsck.dedupfs"), "-n", "--key-file", key, self.place, check=False)
            if status == 8 and "no key slot opens" in output:
                continue
            # The copies of the key header may differ.
            half = status == 4 and output.count("error:") == 1 and re.search(r"error: \S*superblock\.", output)
            if status != 0 and not half:
                raise Violation(f"after a crash of dedupfs-key rotate, fsck.dedupfs -n gave {status}: {output}")
            found.append(key)
        if len(found) != 1:
            raise Violation(f"after a crash of dedupfs-key rotate, {len(found)} of the two passphrases open the volume")
        return found[0]

    def former_keys(self):
        output, _ = run(self.campaign.tool("dedupfs-key"), "list", "--json", self.place)
        return json.loads(output)["former_keys"]

    def forget_former_key(self, point):
        """Reclaims and unmounts until it is gone: checkpoints go one at a time."""
        for number in range(6):
            self.start(self.new, point)
            self.change_something(number)
            run(self.campaign.tool("dedupfs-gc"), self.campaign.mountpoint, "--wait", timeout=self.campaign.settings.patience)
            if not self.stop(point):
                self.campaign.reached.add(point)
                self.campaign.reappear("kill")
            if not self.former_keys():
                return
        raise Violation(f"the former master key is still in the key header: {self.daemon.tail()}")


def key_cycle(campaign, kind, point):
    """Crashes around a new master key: of dedupfs-key, of the next mount, of the unmount that forgets the former key. Nothing is lost, and
    one passphrase opens the volume."""
    if campaign.daemon.running():
        campaign.stop_daemon()
    volume = KeyedVolume(campaign)
    of_rotation = {"rotation.list-copied": point, "rotation.header-written": point, "superblock.repaired": "superblock.copy-written"}
    finished = volume.rotate(of_rotation.get(point), kind)
    key = volume.key_that_opens()
    if finished and key != volume.new:
        raise Violation("dedupfs-key rotate succeeded, and the old passphrase opens the volume")
    text = "before" if key == volume.old else "after"
    if point == "superblock.repaired":
        if not volume.start(key, point):
            campaign.reached.add(point)
        volume.daemon.kill()
        campaign.reappear("kill")
    if key == volume.old:
        volume.start(key)  # the list of files is that of a crash now, perhaps
        volume.judge()
        volume.stop()
        run(campaign.tool("dedupfs-key"), "rotate", "--key-file", volume.old, "--new-key-file", volume.new, "--kdf-memory", "8m", volume.place)
    if point == "mount.small-file-sealed":
        if not volume.start(volume.new, point):
            campaign.reached.add(point)
        volume.daemon.kill()
        campaign.reappear("kill")
    if point is not None or campaign.random.random() < 0.3:
        volume.forget_former_key(point if point == "unmount.keys-forgotten" else None)
    volume.start(volume.new)
    volume.judge()
    volume.stop()
    if volume.key_that_opens() != volume.new:
        raise Violation("the old passphrase opens the volume again")
    shutil.rmtree(volume.place)
    if campaign.trees is not None:
        campaign.daemon.start(campaign.mount_options)
    return f"a crash {text} the new master key"


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
