"""What a tool is: it stores versions of a file in one repository, and gives them back.

Each tool runs with a home folder of its own and an environment without anything of the user's, so that no configuration is read
and no cache is written outside of the folder that it is given. Passphrases are fixed: what they protect is thrown away.
"""
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
    """What the process and the children that it waited for took. Kills it when it is not over after `patience` seconds, or when the wait is
    interrupted."""
    try:
        return usage_at_end(process, patience)
    except BaseException:
        process.kill()
        process.wait()
        raise


def usage_at_end(process, patience):
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


def cpu_seconds_so_far(process):
    """User and system time of a child that was not waited for yet, with all threads that it ever had."""
    return time.clock_gettime((~process.pid << 3) | 2)  # the clock of clock_getcpuclockid(3), which Python does not have


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
            usage = wait_for(process)
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

    def rest(self):
        """Ends what is running in the background, so that nothing of the tool is in memory. What that took, with the time of
        daemons that no earlier answer counted."""
        return Usage()

    def settle(self):
        """Work on the repository that the tool puts off until all versions are in. What it took; None if there is no such work."""
        return None

    def restore(self, name, folder):
        """Writes a version into an empty folder, as the only file there, at whatever place below it."""
        raise NotImplementedError
