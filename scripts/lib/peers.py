"""The tools that scripts/bench-peers compares: how each stores versions of a file in one repository, and gives them back.

Each runs with a home folder of its own and an environment without anything of the user's, so that no configuration is read
and no cache is written outside of the folder that it is given. Passphrases are fixed: what they protect is thrown away.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import time


class Failure(Exception):
    """A tool did not do what it was asked for."""


@dataclasses.dataclass
class Usage:
    """What processes took. The peak is that of the largest process; Linux counts in it what this interpreter held when
    it forked, so that about 20 MB are the least that it shows."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0

    def __add__(self, other):
        return Usage(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds,
                     max(self.peak_bytes, other.peak_bytes))


def wait_for(process, patience=None):
    """What the process and the children that it waited for took. Kills it when it is not over after `patience` seconds."""
    deadline = None if patience is None else time.monotonic() + patience
    while True:
        pid, status, usage = os.wait4(process.pid, 0 if deadline is None else os.WNOHANG)
        if pid:
            break
        if time.monotonic() > deadline:
            process.kill()
            deadline = None
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(0.0, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


class Tool:
    """One way to store versions. A context manager: leaving it ends its processes; its folder is the caller's to remove."""
    key = ""         # for --tools
    label = ""       # in tables
    programs = ()    # that must be there
    packages = ()    # that have them, in Debian or Ubuntu
    version_arguments = ("--version",)
    slow = False     # only when asked for
    at_once = False  # stores all versions in one go, and cannot add to them

    def __init__(self, folder, search_path):
        self.folder = folder
        self.repository = folder / "repository"
        self.home = folder / "home"
        self.log = folder / "log"
        self.environment = {"PATH": search_path, "HOME": str(self.home), "TMPDIR": str(self.home), "LC_ALL": "C.UTF-8"}
        self.home.mkdir(parents=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    @classmethod
    def obstacle(cls, search_path):
        """Why it cannot run here; None when it can."""
        missing = [program for program in cls.programs if not shutil.which(program, path=search_path)]
        return f"{missing[0]} is not installed" if missing else None

    @classmethod
    def version(cls, search_path):
        """Name and version of the program, as in "borg 1.2.4"."""
        program = cls.programs[0]
        result = subprocess.run([shutil.which(program, path=search_path), *cls.version_arguments], capture_output=True,
                                text=True, check=False, stdin=subprocess.DEVNULL)
        text = result.stdout + result.stderr
        number = re.search(r"\d+(\.\d+)+", text) or re.search(r"\d+", text)
        return f"{pathlib.Path(program).name} {number.group() if number else ''}".strip()

    def run(self, *command, cwd=None, source=os.devnull, output=None):
        """Runs a program to its end, its standard input from the file `source`, its standard output to the file `output`;
        what it prints else goes to the log."""
        with open(self.log, "ab") as log, open(source, "rb") as stdin, open(output or self.log, "ab") as stdout:
            begin = time.perf_counter()
            process = subprocess.Popen([str(part) for part in command], cwd=cwd or self.folder, env=self.environment,
                                       stdin=stdin, stdout=stdout, stderr=log)
            try:
                usage = wait_for(process)
            except BaseException:
                process.kill()
                process.wait()
                raise
            usage.seconds = time.perf_counter() - begin
        if process.returncode != 0:
            raise Failure(f"{pathlib.Path(command[0]).name} gave {process.returncode}: {self.last_words()}")
        return usage

    def run_for_json(self, *command, cwd):
        """Runs a program that prints JSON, one value or one a line: what it took, and the last value."""
        output = self.folder / "output.json"
        usage = self.run(*command, cwd=cwd, output=output)
        text = output.read_text(encoding="utf-8").strip()
        output.unlink()
        try:
            return usage, json.loads(text)
        except ValueError:
            return usage, json.loads(text.splitlines()[-1])

    def last_words(self):
        return " / ".join(self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:])

    def create(self):
        """Makes the empty repository."""
        self.repository.mkdir()

    def store(self, file, name):
        """Adds a version to the repository, reading the whole file."""
        raise NotImplementedError

    def settle(self):
        """Brings the repository to rest: what is running in the background ends. What that took, daemons included."""
        return Usage()

    def restore(self, name, folder):
        """Writes a version into an empty folder, as the only file there, at whatever place below it."""
        raise NotImplementedError


class PatchChain(Tool):
    key, label = "chain", "patch chain (`zstd -3 --patch-from`)"
    programs = packages = ("zstd",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.stored = []  # (name, original), in order

    def store(self, file, name):
        # From standard input: zstd refuses a base that is the input, as the newest version is when it is stored again.
        base = [f"--patch-from={self.stored[-1][1]}"] if self.stored else []
        usage = self.run("zstd", "-q", "-3", "--long=31", f"--stream-size={file.stat().st_size}", *base,
                         "-o", self.repository / name, source=file)
        self.stored.append((name, file))
        return usage

    def restore(self, name, folder):
        usage, previous = Usage(), None
        for link, _ in self.stored:
            base = [f"--patch-from={previous}"] if previous else []
            usage += self.run("zstd", "-q", "-d", "--long=31", *base, self.repository / link, "-o", folder / link)
            if previous:
                previous.unlink()
            previous = folder / link
            if link == name:
                return usage
        raise Failure(f"there is no {name}")


class Concatenation(Tool):
    key, label = "zstd-19", "all versions in one `zstd -19 --long=31`"
    programs = packages = ("zstd",)
    slow = at_once = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.places = {}  # name: (offset, bytes)

    def store_all(self, files, names):
        offset = 0
        for file, name in zip(files, names):
            self.places[name] = (offset, file.stat().st_size)
            offset += file.stat().st_size
        return self.run("sh", "-c", 'cat -- "$@" | zstd -q -19 --long=31 -o all.zst', "sh", *files, cwd=self.repository)

    def restore(self, name, folder):
        offset, size = self.places[name]
        return self.run("sh", "-c", 'zstd -q -d -c --long=31 "$1" | tail -c "+$2" | head -c "$3" >"$4"', "sh",
                        self.repository / "all.zst", offset + 1, size, folder / name)


class Mounted(Tool):
    """A filesystem. Its daemon runs in the foreground, as a child, so that its CPU time and memory are known to the end; it
    is ended at each settle() and started again when it is needed. Starting and ending it is not part of the seconds."""
    unmount_command = ()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.mountpoint = self.folder / "mnt"
        self.mountpoint.mkdir()
        self.daemon = None

    def __exit__(self, *_):
        with contextlib.suppress(Failure):
            self.settle()
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
        daemon, self.daemon = self.daemon, None
        return wait_for(daemon, patience)

    def settle(self):
        if not self.daemon:
            return Usage()
        daemon, patience = self.daemon, 0  # a daemon that cannot be unmounted is killed
        try:
            self.run(*self.unmount_command, self.mountpoint)
            patience = 600
        finally:
            usage = self.stop(patience)
        if daemon.returncode != 0:
            raise Failure(f"the daemon gave {daemon.returncode}: {self.last_words()}")
        return usage

    def store(self, file, name):
        self.mount()
        target = self.mountpoint / name
        usage = self.run("cp", file, target)
        for command in self.flush_commands(target):
            usage += self.run(*command)
        return usage

    def restore(self, name, folder):
        self.mount()
        return self.run("cp", self.mountpoint / name, folder)


class Dedupfs(Mounted):
    key, label = "dedupfs", "dedupfs"
    programs = ("dedupfs", "mkfs.dedupfs", "umount.dedupfs", "fusermount3")
    unmount_command = ("umount.dedupfs",)
    mkfs_options = ()

    @classmethod
    def obstacle(cls, search_path):
        obstacle = super().obstacle(search_path)
        if obstacle or not cls.mkfs_options:
            return obstacle
        mkfs = shutil.which("mkfs.dedupfs", path=search_path)
        text = subprocess.run([mkfs, "--help"], capture_output=True, text=True, check=False).stdout
        return None if cls.mkfs_options[0] in text else f"its mkfs.dedupfs has no {cls.mkfs_options[0]}"

    def create(self):
        self.run("mkfs.dedupfs", *self.mkfs_options, self.repository)

    def daemon_command(self):
        return "dedupfs", "-f", self.repository, self.mountpoint

    def flush_commands(self, file):
        # syncfs for the page cache, and fsync, because Linux does not pass syncfs on to FUSE filesystems
        return ("sync", "-f", file), ("sync", file)


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


class Borg(Tool):
    key, label = "borg", "borg zstd,3"
    programs, packages = ("borg",), ("borgbackup",)
    chunker = ()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment.update(BORG_BASE_DIR=str(self.home), BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK="yes")

    def create(self):
        self.run("borg", "init", "--encryption=none", self.repository)

    def store(self, file, name):
        return self.run("borg", "create", "--compression=zstd,3", "--files-cache=disabled", *self.chunker,
                        f"{self.repository}::{name}", file.name, cwd=file.parent)

    def restore(self, name, folder):
        return self.run("borg", "extract", f"{self.repository}::{name}", cwd=folder)


class Borg64k(Borg):
    key, label = "borg-64k", "borg zstd,3, 64 KiB chunks"
    chunker = ("--chunker-params=buzhash,10,23,16,4095",)


class Borg8k(Borg):
    key, label = "borg-8k", "borg zstd,3, 8 KiB chunks"
    chunker = ("--chunker-params=buzhash,10,23,13,4095",)


class WithSnapshots(Tool):
    """Names its snapshots itself, and prints the name as JSON."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.snapshots = {}  # by the names that we give

    def store_as(self, name, id_key, *command, cwd):
        usage, answer = self.run_for_json(*command, cwd=cwd)
        if id_key not in answer:
            raise Failure(f"{command[0]} did not name its snapshot")
        self.snapshots[name] = answer[id_key]
        return usage


class Restic(WithSnapshots):
    key, label = "restic", "restic"
    programs = packages = ("restic",)
    version_arguments = ("version",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment.update(RESTIC_REPOSITORY=str(self.repository), RESTIC_PASSWORD="bench",
                                RESTIC_CACHE_DIR=str(self.home / "cache"))

    def create(self):
        self.run("restic", "init")

    def store(self, file, name):
        return self.store_as(name, "snapshot_id", "restic", "backup", "--json", "--force", file.name, cwd=file.parent)

    def restore(self, name, folder):
        return self.run("restic", "restore", self.snapshots[name], "--target", folder)


class Rustic(WithSnapshots):
    key, label = "rustic", "rustic"
    programs = packages = ("rustic",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment.update(RUSTIC_REPOSITORY=str(self.repository), RUSTIC_PASSWORD="bench",
                                RUSTIC_CACHE_DIR=str(self.home / "cache"), RUSTIC_NO_PROGRESS="true")

    def create(self):
        self.run("rustic", "init")

    def store(self, file, name):
        return self.store_as(name, "id", "rustic", "backup", "--json", "--force", file.name, cwd=file.parent)

    def restore(self, name, folder):
        return self.run("rustic", "restore", self.snapshots[name], folder)


class Kopia(WithSnapshots):
    key, label = "kopia", "kopia zstd"
    programs = packages = ("kopia",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment.update(KOPIA_CONFIG_PATH=str(self.home / "repository.config"), KOPIA_PASSWORD="bench",
                                KOPIA_CACHE_DIRECTORY=str(self.home / "cache"), KOPIA_LOG_DIR=str(self.home / "log"),
                                KOPIA_CHECK_FOR_UPDATES="false")

    def create(self):
        super().create()
        self.run("kopia", "repository", "create", "filesystem", "--path", self.repository)
        self.run("kopia", "policy", "set", "--global", "--compression=zstd")

    def store(self, file, name):
        return self.store_as(name, "id", "kopia", "snapshot", "create", "--json", "--force-hash=100", file, cwd=self.folder)

    def restore(self, name, folder):
        return self.run("kopia", "restore", self.snapshots[name], folder / name)


class Zpaq(Tool):
    key, label = "zpaq", "zpaq -m1"
    programs = packages = ("zpaq",)
    version_arguments = ()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.names = {}  # in the archive, by the names that we give

    def store(self, file, name):
        self.names[name] = file.name
        return self.run("zpaq", "add", self.repository / "archive.zpaq", file.name, "-method", "1", "-force", cwd=file.parent)

    def restore(self, name, folder):
        return self.run("zpaq", "extract", self.repository / "archive.zpaq", self.names[name], "-to", folder / name)


class Casync(Tool):
    key, label = "casync", "casync zstd"
    programs = packages = ("casync",)

    def store(self, file, name):
        return self.run("casync", "make", "--compression=zstd", f"--store={self.repository}/store.castr",
                        self.repository / f"{name}.caibx", file)

    def restore(self, name, folder):
        return self.run("casync", "extract", f"--store={self.repository}/store.castr", self.repository / f"{name}.caibx",
                        folder / name)


ALL = (PatchChain, Concatenation, Dedupfs, DedupfsWithoutDeltas, Borg, Borg64k, Borg8k, Restic, Rustic, Kopia, S3ql, Zpaq, Casync)
