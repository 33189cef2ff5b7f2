"""What crashes: a disk of its own on a loop device, and the daemon that serves a volume on it. Needs root."""
import fcntl
import os
import signal
import struct
import subprocess
import time

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32), as FS_IOC_SHUTDOWN of other filesystems
LOG_FLUSH, NO_LOG_FLUSH = 1, 2
# Where the journal orders nothing, and where names and sizes reach the disk well before the data that they belong to.
MODES = ("data=ordered", "data=writeback", "data=ordered,commit=1,noauto_da_alloc", "data=writeback,commit=1,nodelalloc,noauto_da_alloc")


class Violation(Exception):
    """Something that dedupfs promises did not hold."""


def run(*command, timeout=60, check=True):
    """The output and the exit status; a time that is over is a violation, since nothing here may hang."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Violation(f"{' '.join(map(str, command))}: not finished after {timeout} s") from None
    output = done.stdout.decode(errors="replace").strip()
    if check and done.returncode != 0:
        raise Violation(f"{' '.join(map(str, command))} gave {done.returncode}: {output[-2000:]}")
    return output, done.returncode


def mounts():
    with open("/proc/mounts", encoding="utf-8") as table:
        return [line.split() for line in table]


def wait_until(seconds, condition, pause=0.004):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


class Disk:
    """An ext4 in an image file."""

    def __init__(self, image, folder, megabytes):
        self.image, self.folder, self.device = image, folder, None
        with open(image, "wb") as file:
            file.truncate(megabytes << 20)
        os.makedirs(folder)
        run("mkfs.ext4", "-q", "-F", "-m", "0", image)
        self.device = run("losetup", "--find", "--show", image)[0]

    def mounted(self):
        return any(entry[1] == self.folder for entry in mounts())

    def mount(self, options):
        run("mount", "-t", "ext4", "-o", options, self.device, self.folder)

    def cut_power(self, flags):
        """Everything that is not on the disk now never will be."""
        mine = [entry for entry in mounts() if entry[1] == self.folder]
        # A mistake here would stop the machine's own disk.
        assert len(mine) == 1 and mine[0][0] == self.device and mine[0][2] == "ext4", mine
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            assert os.fstat(fd).st_dev == os.stat(self.device).st_rdev
            fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", flags))
        finally:
            os.close(fd)

    def unmount(self):
        output = ""
        for _ in range(500):  # those who held it are on their way out
            output, status = run("umount", self.folder, check=False)
            if status == 0:
                return
            time.sleep(0.01)
        raise RuntimeError(f"cannot unmount the disk: {output}")

    def free_bytes(self):
        space = os.statvfs(self.folder)
        return space.f_bavail * space.f_frsize

    def destroy(self):
        if self.mounted():
            subprocess.run(["umount", "-l", self.folder], check=False)
        if self.device:
            subprocess.run(["losetup", "-d", self.device], check=False)


class Daemon:
    """Serves the volume at the mountpoint; stays a child of this process, so that its end can be told."""

    def __init__(self, tools, volume, mountpoint, log, patience, within=()):
        """`within`: a command that runs a command, as in a network namespace, and becomes it."""
        self.tools, self.volume, self.mountpoint, self.log, self.patience = tools, volume, mountpoint, log, patience
        self.within = within
        self.process = None

    def launch(self, options, crash_at=None):
        environment = dict(os.environ)
        environment.pop("DEDUPFS_CRASH_AT", None)
        if crash_at:
            environment["DEDUPFS_CRASH_AT"] = crash_at
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.within, os.path.join(self.tools, "dedupfs"), self.volume, self.mountpoint, "-f", "-o", options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            )  # fmt: skip

    def ready(self):
        return any(entry[1] == self.mountpoint and entry[2].startswith("fuse") for entry in mounts())

    def start(self, options, crash_at=None):
        """False: it died at its crash point. Otherwise it serves."""
        begin = time.monotonic()
        self.launch(options, crash_at)
        wait_until(self.patience, lambda: self.ready() or not self.running())
        if self.running() and not self.ready():
            raise Violation(f"no mount after {self.patience} s")
        try:
            if self.ready():
                os.statvfs(self.mountpoint)
        except OSError:
            wait_until(self.patience, lambda: not self.running())
        if self.running():
            self.opened_in = time.monotonic() - begin
            return True
        if crash_at and self.process.returncode == -signal.SIGKILL:
            return False
        raise Violation(f"the mount failed with {self.process.returncode}: {self.tail()}")

    def running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def clear(self):
        """The mount that a dead daemon leaves behind."""
        if any(entry[1] == self.mountpoint for entry in mounts()):
            run("umount", "-l", self.mountpoint, check=False)

    def stop(self, crash_at=None):
        """Unmounts. False: it died at its crash point."""
        output, status = run(os.path.join(self.tools, "umount.dedupfs"), self.mountpoint, timeout=self.patience, check=False)
        wait_until(self.patience if status == 0 else 1, lambda: not self.running())
        ended = self.process.returncode
        if crash_at and ended == -signal.SIGKILL:
            return False
        if status != 0 or ended != 0:
            raise Violation(f"unmounting gave {status}: {output}; the daemon ended with {ended}: {self.tail()}")
        return True

    def tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-3000:].decode(errors="replace")
