"""One campaign: cycles of work, a crash, recovery and judgement, on volumes that live through many of them."""
import os
import random
import selectors
import shutil
import signal
import subprocess
import time

from . import points
from .machine import LOG_FLUSH, MODES, NO_LOG_FLUSH, Daemon, Disk, Violation, run, wait_until
from .model import Tree
from .oracle import FOREVER, History, judge
from .snapshots import Churn, rollback_cycle
from .tool_crashes import key_cycle, mkfs_cycle, repair_cycle
from .workload import work

STAGES_OF_WORK = (points.AT_WORK, points.WITH_BULK, points.WITH_RECLAIM, points.WITH_SNAPSHOTS)
VOLUME_OPTIONS = (
    [],
    ["--compression", "none"],
    ["--delta", "none"],
    ["--chunker", "ram:avg=4k", "--region", "64k"],
    ["--compression", "none", "--delta", "odess+:depth=8", "--region", "128k"],
)
# With slow_source=0 all data lands, so that there is something to settle.
MOUNT_OPTIONS = ("commit=1", "commit=1,slow_source=0", "commit=1,dirty=16m,cache=16m", "commit=5,slow_source=0", "commit=1,direct_io=off",
                 "commit=1,threads=1", "commit=1,checkpoint=1")  # fmt: skip
WORKERS = 3
LEAST_FREE_BYTES = 250 << 20


class Settings:
    def __init__(self, tools, seed, scratch, evidence, patience, log, megabytes=1200, encrypted=False):
        self.tools, self.seed, self.scratch, self.evidence, self.patience = tools, seed, scratch, evidence, patience
        self.log, self.megabytes, self.encrypted = log, megabytes, encrypted
        if encrypted:  # all programs find the passphrase as those of a service do
            os.environ["CREDENTIALS_DIRECTORY"] = os.path.join(scratch, "credentials")
            os.makedirs(os.environ["CREDENTIALS_DIRECTORY"])
            with open(os.path.join(os.environ["CREDENTIALS_DIRECTORY"], "dedupfs-key"), "w", encoding="ascii") as file:
                file.write(f"passphrase {seed}\n")

    @property
    def mkfs_options(self):
        return ["--encrypt", "--kdf-memory", "8m"] if self.encrypted else []


class Campaign:
    def __init__(self, settings):
        self.settings = settings
        self.cuts = self.kills = self.violations = self.synced = self.nested = self.lost = self.longest_open = 0
        self.operations = self.repairs = self.settlings = 0
        self.repair_seconds = 1.0  # that the last one took, and some
        self.attempted, self.reached = set(), set()  # crash points
        self.kept = 0
        self.cycle = 0
        self.random = random.Random(settings.seed)
        self.jobs = self.random
        self.disk = None
        self.daemon = None
        self.workers = []
        self.reclaim = None  # beside the workers
        self.churn = None  # of snapshots
        self.mode = MODES[0]
        self.mount_options = "no volume yet"
        self.volume_of = 0
        self.trees = None  # of the workers; None: a new volume is wanted
        self.cycles_left = 0

    # ---------------------------------------------------------------- the disk and the volume

    def open(self):
        scratch = self.settings.scratch
        self.disk = Disk(os.path.join(scratch, "image"), os.path.join(scratch, "disk"), self.settings.megabytes)
        self.disk.mount(self.mode)
        self.volume = os.path.join(self.disk.folder, "volume")
        self.mountpoint = os.path.join(scratch, "mnt")
        os.makedirs(self.mountpoint)
        self.daemon = Daemon(self.settings.tools, self.volume, self.mountpoint, os.path.join(scratch, "daemon.log"), self.settings.patience)

    def close(self):
        for pid, _ in self.workers:
            os.kill(pid, signal.SIGKILL)
        if self.daemon:
            self.daemon.kill()
            self.daemon.clear()
        for pid, _ in self.workers:
            os.waitpid(pid, 0)
        self.workers = []
        self.end_reclaim()
        if self.churn:
            self.churn.end()
        if self.disk:
            self.disk.destroy()

    def tool(self, name):
        return os.path.join(self.settings.tools, name)

    def new_volume(self):
        if self.daemon.running():
            self.stop_daemon()
        if os.path.exists(self.volume):
            shutil.rmtree(self.volume)
        self.volume_of = self.cycle
        run(self.tool("mkfs.dedupfs"), *self.settings.mkfs_options, *self.random.choice(VOLUME_OPTIONS), self.volume)
        self.mount_options = self.random.choice(MOUNT_OPTIONS)
        self.daemon.start(self.mount_options)
        self.trees = [Tree() for _ in range(WORKERS)]
        self.churn = Churn(self.tool("dedupfs-snapshot"), self.mountpoint)
        for number in range(WORKERS):
            os.mkdir(os.path.join(self.mountpoint, f"w{number}"))
        fd = os.open(self.mountpoint, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        self.cycles_left = self.random.choice((5, 20, 40))

    def stop_daemon(self):
        self.daemon.stop()
        self.daemon.clear()

    def switch_mode(self):
        """Remounting the disk takes a clean unmount."""
        self.disk.unmount()
        self.mode = self.random.choice(MODES)
        self.disk.mount(self.mode)

    # ---------------------------------------------------------------- cycles

    def run_cycle(self, kind, point=None, first_passage=False):
        """A crash of this kind, "cut" or "kill", perhaps at a crash point. Violations are counted and kept."""
        self.cycle += 1
        self.attempted |= {point} - {None}
        self.first_passage, self.killed_by_us, self.cut_at = first_passage, False, (FOREVER, FOREVER)
        self.random = random.Random(f"{self.settings.seed} {self.cycle}")
        self.jobs = random.Random(f"{self.settings.seed} {self.cycle} jobs")  # of its own: how many there are is a matter of time
        begin = time.monotonic()
        if kind == "cut":
            self.cuts += 1
        else:
            self.kills += 1
        try:
            stage = points.POINTS.get(point)
            chance = self.random.random() if point is None else 1
            if stage == points.AT_MKFS or chance < 0.05:
                text = mkfs_cycle(self, kind, point)
            elif stage == points.WITH_NEW_KEY or (self.settings.encrypted and chance < 0.1):
                text = key_cycle(self, kind, point)
            elif chance < 0.15 and self.trees is not None and self.disk.free_bytes() > 2 * LEAST_FREE_BYTES:
                text = repair_cycle(self, kind)
            else:
                text = self.work_cycle(kind, point, stage)
            self.settings.log(f"{self.describe(kind, point)}: {text}, {time.monotonic() - begin:.1f} s")
        except Violation as violation:
            self.keep(self.describe(kind, point), str(violation))
            self.start_over()

    def describe(self, kind, point):
        return f"cycle {self.cycle} ({kind}{' at ' + point if point else ''}, {self.mode}, {self.mount_options}, volume of {self.volume_of})"

    def start_over(self):
        """After a violation nothing is trusted."""
        self.end_workers([])
        self.daemon.kill()
        self.daemon.clear()
        if self.disk.mounted():
            self.disk.unmount()
        self.disk.mount(self.mode)
        shutil.rmtree(self.volume, ignore_errors=True)
        self.trees = None

    def work_cycle(self, kind, point, stage):
        if self.trees is None or self.cycles_left <= 0 or self.disk.free_bytes() < LEAST_FREE_BYTES:
            if self.daemon.running():
                self.stop_daemon()
            self.switch_mode()
            self.new_volume()
        self.cycles_left -= 1
        crash_at = None
        alive = True
        if stage in (*STAGES_OF_WORK, points.AT_UNMOUNT):
            once = self.first_passage or point in points.ONCE or stage == points.AT_UNMOUNT
            crash_at = point if once else f"{point}:{self.random.randrange(1, 9)}"
            self.stop_daemon()
            alive = self.daemon.start(self.mount_options + points.mount_options(point), crash_at)
        histories = [History(f"{self.settings.seed} {self.cycle} w{n}", tree, 72 if stage == points.WITH_BULK and n == 0 else 0) for n, tree in enumerate(self.trees)]  # fmt: skip
        if alive:
            if stage == points.WITH_SNAPSHOTS or self.random.random() < 0.3:
                self.churn.start(f"{self.settings.seed} {self.cycle} snapshots")
            self.start_workers(histories)
            self.crash(kind, crash_at, stage, histories)
        if crash_at and self.daemon.process.returncode == -signal.SIGKILL and not self.killed_by_us:
            self.reached.add(point)
        return self.recover(kind, point if stage == points.AT_MOUNT else None, point if stage == points.AT_ROLLBACK else None, histories)  # fmt: skip

    def start_workers(self, histories):
        for number, history in enumerate(histories):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    os.close(reading)
                    work(os.path.join(self.mountpoint, f"w{number}"), history.generator(), writing)
                    status = 0
                finally:
                    os._exit(status)
            os.close(writing)
            os.set_blocking(reading, False)
            self.workers.append((pid, reading))

    def listen(self, histories, seconds, until=lambda: False):
        """Takes what the workers report. True: all of them have ended."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            for (_, fd), history in zip(self.workers, histories):
                selector.register(fd, selectors.EVENT_READ, history)
            while selector.get_map() and time.monotonic() < deadline and not until():
                for key, _ in selector.select(min(0.02, max(0, deadline - time.monotonic()))):
                    data = os.read(key.fd, 1 << 16)
                    key.data.take(data)
                    if not data:
                        selector.unregister(key.fd)
            return not selector.get_map()

    def keep_reclaiming(self, may_settle):
        """One reclaim or settling after the other. What they say when the daemon dies is nobody's business."""
        if self.reclaim is None or self.reclaim.poll() is not None:
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            settling = ["--settle"] if may_settle and self.jobs.random() < 0.5 else []
            self.settlings += len(settling)
            self.reclaim = subprocess.Popen([self.tool("dedupfs-gc"), *settling, self.mountpoint, "--wait"], **quiet)

    def end_reclaim(self):
        if self.reclaim is not None:
            self.reclaim.kill()
            self.reclaim.wait()
            self.reclaim = None

    def crash(self, kind, crash_at, stage, histories):
        """Lets the workers work, and ends that."""
        seconds = self.random.choice((0.05, 0.3, 1, 2)) * self.random.random()
        reclaims = stage == points.WITH_RECLAIM or self.random.random() < 0.5

        def daemon_ended():
            if reclaims and self.daemon.running():
                self.keep_reclaiming(may_settle=stage != points.WITH_RECLAIM)  # whose crash points only a reclaim passes
            return not self.daemon.running()

        if stage in STAGES_OF_WORK:
            thorough = stage == points.WITH_BULK or self.first_passage
            if self.listen(histories, (2 if thorough else 0.3) * self.settings.patience, until=daemon_ended):
                wait_until(1, lambda: not self.daemon.running())  # the workers heard of it first
        else:
            ended = self.listen(histories, seconds, until=daemon_ended)
            if ended or not self.daemon.running():
                self.fail_unless_full(histories)
                raise Violation(f"the daemon or the workers ended by themselves ({self.daemon.process.poll()}): {self.daemon.tail()}")
            self.fail_unless_full(histories)
        if stage == points.AT_UNMOUNT:
            # While files are open: SIGTERM ends the mount all the same, and commits.
            self.daemon.process.terminate()
            wait_until(self.settings.patience, lambda: not self.daemon.running())
        elif kind == "cut":
            begin = time.monotonic_ns()
            self.disk.cut_power(self.random.choice((NO_LOG_FLUSH, NO_LOG_FLUSH, LOG_FLUSH)))
            self.cut_at = (begin, time.monotonic_ns())
            # What the daemon says now, it must not say on the ground of what it could not write.
            self.listen(histories, self.random.choice((0, 0.02, 0.2)))
        self.killed_by_us = self.daemon.running()
        if not self.killed_by_us and not crash_at and kind != "cut":
            raise Violation(f"the daemon ended by itself: {self.daemon.tail()}")
        self.daemon.kill()
        self.end_workers(histories)

    def fail_unless_full(self, histories):
        """Before the crash no operation may fail."""
        for number, history in enumerate(histories):
            if history.failure:
                op = list(history.operations())[-1][0]
                raise Violation(f"w{number}: {op[:2]} failed before the crash: {os.strerror(history.failure[1])}: {self.daemon.tail()}")

    def end_workers(self, histories):
        self.end_reclaim()
        self.churn.end(self.cut_at)
        self.daemon.clear()
        ended = self.listen(histories, self.settings.patience) if histories else True
        hanging = []
        for pid, fd in self.workers:
            if not ended or not histories:
                os.kill(pid, signal.SIGKILL)
                hanging.append(pid)
            _, status = os.waitpid(pid, 0)
            os.close(fd)
            if histories and ended and status != 0:
                raise RuntimeError(f"a worker ended with {status}")
        self.workers = []
        if not ended:
            raise Violation(f"workers hang after the daemon is gone: {hanging}")

    # ---------------------------------------------------------------- recovery

    def reappear(self, kind):
        """The machine is up again: what is on the disk is what there is."""
        self.daemon.clear()
        if kind == "cut":
            self.disk.unmount()
            self.disk.mount(self.mode)

    def recover(self, kind, mount_point, rollback_point, histories):
        self.reappear(kind)
        self.check("after the crash")
        if mount_point:
            if not self.daemon.start(self.mount_options, mount_point):
                self.reached.add(mount_point)
            self.daemon.kill()
            self.reappear("kill")
        for _ in range(2):
            if self.random.random() < 0.25:
                self.crash_in_recovery(kind)
        self.daemon.start(self.mount_options)
        self.longest_open = max(self.longest_open, self.daemon.opened_in)
        verdict = judge(self.mountpoint, histories, self.cut_at)
        if verdict.violations:
            raise Violation("\n".join(verdict.violations))
        self.churn.judge()
        self.trees = verdict.trees
        synced = sum(len(history.acknowledged()) for history in histories)
        operations = sum(len(history.returned) for history in histories)
        self.synced += synced
        self.operations += operations
        self.lost += verdict.lost
        if self.random.random() < 0.15:
            self.stop_daemon()
            self.check("after recovery")
            self.daemon.start(self.mount_options)
        text = f"{operations} operations, {synced} fsyncs, {verdict.lost} operations not durable"
        if rollback_point or self.random.random() < 0.1:
            text += f", {rollback_cycle(self, kind, rollback_point)}"
        return text

    def crash_in_recovery(self, kind):
        """The same again before the mount is up, or right after."""
        self.nested += 1
        self.daemon.launch(self.mount_options)
        time.sleep(self.random.choice((0.02, 0.1, 0.3)) * self.random.random())
        if kind == "cut":
            self.disk.cut_power(NO_LOG_FLUSH)
        self.daemon.kill()
        self.reappear(kind)

    def check(self, when):
        output, status = run(self.tool("fsck.dedupfs"), "-n", self.volume, timeout=6 * self.settings.patience, check=False)
        if status != 0:
            raise Violation(f"fsck.dedupfs -n {when} gave {status}: {output[-2000:]}")

    def keep(self, what, text):
        """The volume as it is, the log and what was found."""
        self.violations += 1
        self.kept += 1
        folder = os.path.join(self.settings.evidence, f"seed{self.settings.seed}-cycle{self.cycle}")
        self.daemon.kill()
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "violation.txt"), "w", encoding="utf-8") as file:
            file.write(f"{what}, seed {self.settings.seed}\n{text}\n")
        if os.path.exists(self.daemon.log):
            shutil.copy(self.daemon.log, folder)
        if self.kept <= 5:
            run("cp", "-a", "--sparse=always", self.volume, folder, timeout=120, check=False)
        self.settings.log(f"VIOLATION in {what}, seed {self.settings.seed}, evidence in {folder}:\n{text}", always=True)
