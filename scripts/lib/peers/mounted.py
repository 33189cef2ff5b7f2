"""Filesystems: dedupfs, and others that deduplicate."""
import contextlib
import os
import shutil
import subprocess
import time

from .tool import Failure, Tool, Usage, cpu_seconds_so_far, wait_for


class Mounted(Tool):
    """A filesystem. Its daemon runs in the foreground, as a child, so that its CPU time and memory are known; rest() ends it,
    and what needs it starts it again. Starting it is not part of the seconds. Its CPU time is: each answer has all that the
    daemon took since the answer before, also between the two."""
    unmount_command = ()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.mountpoint = self.folder / "mnt"
        self.mountpoint.mkdir()
        self.daemon = None
        self.counted = 0.0  # of the daemon's CPU time, in seconds

    def __exit__(self, *_):
        with contextlib.suppress(Failure):
            self.rest()
        # Nothing to do, unless a daemon that died left its mount behind.
        subprocess.run(["fusermount3", "-u", "-z", self.mountpoint], check=False, stderr=subprocess.DEVNULL)

    def daemon_command(self):
        raise NotImplementedError

    def flush_commands(self, file):
        """What makes a file durable that was copied onto the filesystem."""
        raise NotImplementedError

    def mount(self):
        if self.daemon:
            return
        self.counted = 0.0
        with open(self.log, "ab") as log:
            self.daemon = subprocess.Popen([str(part) for part in self.daemon_command()], cwd=self.folder,
                                           env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not os.path.ismount(self.mountpoint):
            if time.monotonic() > deadline:
                raise Failure("the mount did not answer within a minute")
            if os.waitid(os.P_PID, self.daemon.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self.stop(0)
                raise Failure(f"the mount failed: {self.last_words()}")
            time.sleep(0.02)

    def stop(self, patience):
        """What the daemon took that is not counted."""
        daemon, self.daemon = self.daemon, None
        usage = wait_for(daemon, patience)
        usage.cpu_seconds -= self.counted
        return usage

    def count_daemon(self, usage):
        """The usage, with what the daemon took since it was counted last."""
        so_far = cpu_seconds_so_far(self.daemon)
        usage += Usage(cpu_seconds=so_far - self.counted)
        self.counted = so_far
        return usage

    def rest(self):
        if not self.daemon:
            return Usage()
        daemon, patience, usage = self.daemon, 0, Usage()  # a daemon that cannot be unmounted is killed
        try:
            usage += self.run(*self.unmount_command, self.mountpoint)
            patience = 600
        finally:
            usage += self.stop(patience)
        if daemon.returncode != 0:
            raise Failure(f"the daemon gave {daemon.returncode}: {self.last_words()}")
        return usage

    def store(self, file, name):
        self.mount()
        target = self.mountpoint / name
        usage = self.run("cp", file, target)
        for command in self.flush_commands(target):
            usage += self.run(*command)
        return self.count_daemon(usage)

    def restore(self, name, folder):
        self.mount()
        return self.count_daemon(self.run("cp", self.mountpoint / name, folder))


def knows(program, option, search_path):
    """Whether the help of the program mentions the option."""
    found = shutil.which(program, path=search_path)
    return bool(found) and option in subprocess.run([found, "--help"], capture_output=True, text=True, check=False).stdout


class Dedupfs(Mounted):
    key, label = "dedupfs", "dedupfs"
    programs = ("dedupfs", "mkfs.dedupfs", "umount.dedupfs", "fusermount3")
    unmount_command = ("umount.dedupfs",)
    mkfs_options = ()

    @classmethod
    def obstacle(cls, search_path):
        obstacle = super().obstacle(search_path)
        if obstacle or not cls.mkfs_options or knows("mkfs.dedupfs", cls.mkfs_options[0], search_path):
            return obstacle
        return f"its mkfs.dedupfs has no {cls.mkfs_options[0]}"

    def create(self):
        self.run("mkfs.dedupfs", *self.mkfs_options, self.repository)

    def daemon_command(self):
        return "dedupfs", "-f", self.repository, self.mountpoint

    def flush_commands(self, file):
        # syncfs for the page cache, and fsync, because Linux does not pass syncfs on to FUSE filesystems
        return ("sync", "-f", file), ("sync", file)

    def settle(self):
        if not knows("dedupfs-gc", "--settle", self.environment["PATH"]):
            return None
        self.mount()
        return self.count_daemon(self.run("dedupfs-gc", "--settle", "--wait", self.mountpoint))


class DedupfsWithoutDeltas(Dedupfs):
    key, label = "dedupfs-nodelta", "dedupfs `--delta none`"
    mkfs_options = ("--delta", "none")


class S3ql(Mounted):
    key, label = "s3ql", "S3QL zlib"
    programs = ("mount.s3ql", "mkfs.s3ql", "umount.s3ql", "s3qlctrl")
    packages = ("s3ql",)
    unmount_command = ("umount.s3ql",)

    def storage(self):
        return "--cachedir", self.home / "cache", f"local://{self.repository}"

    def create(self):
        super().create()
        self.run("mkfs.s3ql", "--plain", *self.storage())

    def daemon_command(self):
        return "mount.s3ql", "--fg", "--log", "none", "--compress", "zlib-6", *self.storage(), self.mountpoint

    def flush_commands(self, file):
        return ("s3qlctrl", "flushcache", self.mountpoint),
