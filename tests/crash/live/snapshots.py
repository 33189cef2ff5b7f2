"""Snapshots beside the workers: they are made, read and deleted all the time, and after the crash those that were acknowledged
must be there as they were read, and those whose deletion was, must not. And going back to one, with a crash in between."""
import hashlib
import os
import random
import signal
import subprocess
import time

from .machine import Violation, run
from .model import entries_of_folder
from .oracle import FOREVER

MOST = 5
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def digest_of(folder):
    return hashlib.sha256(repr(sorted(entries_of_folder(folder).items())).encode()).hexdigest()


def place_of(mountpoint, name):
    return os.path.join(mountpoint, ".snapshots", name)


class Churn:
    """Of one volume, over many crashes."""

    def __init__(self, tool, mountpoint):
        self.tool, self.mountpoint = tool, mountpoint
        self.digests = {}  # of those that must be there; None: never read
        self.doubtful = set()  # may be there or not
        self.gone = set()
        self.process = None
        self.made = 0

    def start(self, seed):
        reading, writing = os.pipe()
        known = sorted(self.digests)
        pid = os.fork()
        if pid == 0:
            try:
                os.setpgid(0, 0)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.close(reading)
                self._work(random.Random(seed), known, writing)
            except OSError:
                pass  # the daemon is gone
            finally:
                os._exit(0)
        os.setpgid(pid, pid)
        os.close(writing)
        self.process = pid, reading

    def _tell(self, fd, *words):
        os.write(fd, f"{time.monotonic_ns()} {' '.join(words)}\n".encode())

    def _done(self, fd, action, name):
        command = [self.tool, action, self.mountpoint, name]
        return subprocess.run(command, **QUIET, pass_fds=[fd], check=False).returncode == 0

    def _work(self, choices, known, fd):
        number = self.made
        while True:
            if len(known) < MOST and (not known or choices.random() < 0.6):
                number += 1
                name = f"s{number}"
                self._tell(fd, "create", name)
                if not self._done(fd, "create", name):
                    return
                self._tell(fd, "created", name)
                self._tell(fd, "read", name, digest_of(place_of(self.mountpoint, name)))
                known.append(name)
            else:
                name = known.pop(choices.randrange(len(known)))
                self._tell(fd, "delete", name)
                if not self._done(fd, "delete", name):
                    return
                self._tell(fd, "deleted", name)

    def end(self, cut=(FOREVER, FOREVER)):
        """After the daemon is gone, or while it serves. `cut`: see judge() of oracle.py; what was under way while the power went may be
        acknowledged and not be durable."""
        if self.process is None:
            return
        pid, fd = self.process
        self.process = None
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        # Without a daemon dedupfs-snapshot opens the volume itself. It has the pipe, too, so at the end of that it is gone.
        with os.fdopen(fd, "rb") as pipe:
            lines = pipe.read().decode().splitlines()
        began = 0
        for when, *words in map(str.split, lines):
            if not (words[0] in ("created", "deleted") and began <= cut[1] and int(when) >= cut[0]):
                self._note(*words)
            began = int(when)

    def _note(self, what, name, digest=None):
        if what == "create":
            self.made += 1
            self.doubtful.add(name)
        elif what == "created":
            self.doubtful.discard(name)
            self.digests[name] = None
        elif what == "read":
            if name not in self.doubtful:
                self.digests[name] = digest
        elif what == "delete":
            self.doubtful.add(name)
            self.digests.pop(name, None)
        else:
            self.doubtful.discard(name)
            self.gone.add(name)

    def judge(self):
        found = set(os.listdir(os.path.join(self.mountpoint, ".snapshots")))
        if missing := self.digests.keys() - found:
            raise Violation(f"snapshots that were acknowledged are gone: {sorted(missing)}")
        if found & self.gone:
            raise Violation(f"snapshots whose deletion was acknowledged are there: {sorted(found & self.gone)}")
        if strange := found - self.digests.keys() - self.doubtful:
            raise Violation(f"snapshots that nobody made: {sorted(strange)}")
        for name, digest in self.digests.items():
            now = digest_of(place_of(self.mountpoint, name))
            if digest not in (None, now):
                raise Violation(f"snapshot {name} changed")
            self.digests[name] = now
        for name in found & self.doubtful:
            self.digests[name] = digest_of(place_of(self.mountpoint, name))
        self.gone |= self.doubtful - found
        self.doubtful.clear()


def scribble(mountpoint, choices):
    """Changes of all kinds, in all folders."""
    for folder in sorted(os.listdir(mountpoint)):
        folder = os.path.join(mountpoint, folder)
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if choices.random() < 0.5 and os.path.isfile(path) and not os.path.islink(path):
                os.unlink(path)
            elif choices.random() < 0.5:
                os.rename(path, os.path.join(folder, f"moved {name}"))
        for number in range(3):
            with open(os.path.join(folder, f"scribble{number}"), "wb") as file:
                file.write(choices.randbytes(20_000))
    os.mkdir(os.path.join(mountpoint, "scribbled"))


def rollback_cycle(campaign, kind, point):
    """A crash around a rollback leaves what was there before it or the snapshot, and once acknowledged the snapshot."""
    tool, mountpoint = campaign.tool("dedupfs-snapshot"), campaign.mountpoint
    run(tool, "create", mountpoint, "back")
    before = digest_of(place_of(mountpoint, "back"))
    scribble(mountpoint, campaign.random)
    run("sync", mountpoint)
    scribbled = digest_of(mountpoint)
    if point:
        campaign.stop_daemon()
        if not campaign.daemon.start(campaign.mount_options, point):
            raise Violation(f"{point} was reached by the mount")
    rollback = subprocess.Popen([tool, "rollback", mountpoint, "back"], **QUIET)
    if not point:
        try:
            rollback.wait(campaign.random.choice((0.01, 0.05, 0.2)) * campaign.random.random())
        except subprocess.TimeoutExpired:
            pass
    else:
        rollback.wait(campaign.settings.patience)
        if not campaign.daemon.running():
            campaign.reached.add(point)
    acknowledged = rollback.poll() == 0
    if kind == "cut":
        campaign.disk.cut_power(1)
    campaign.daemon.kill()
    rollback.wait()
    campaign.reappear(kind)
    campaign.check("after a crash around a rollback")
    campaign.daemon.start(campaign.mount_options)
    now = digest_of(mountpoint)
    if now != before and (acknowledged or now != scribbled):
        raise Violation("after a rollback there is neither the snapshot nor what was there before")
    run(tool, "rollback", mountpoint, "back")
    if digest_of(mountpoint) != before:
        raise Violation("a rollback did not bring back what the snapshot has")
    run(tool, "delete", mountpoint, "back")
    return "rolled back" if now == before else "not rolled back"
