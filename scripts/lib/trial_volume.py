"""A volume that a benchmark makes, mounts and removes again."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "build/tools"


def cpu_seconds(process):
    """User and system time so far, of all its threads."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class TrialVolume:
    """In a folder of its own below `place`, with the mountpoint beside the volume. Gone at the end of a `with`."""

    def __init__(self, tools, place, is_encrypted=False, mkfs_options=()):
        self.tools = tools.resolve()
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="dedupfs-trial.", dir=place)).resolve()
        self.volume, self.mountpoint = self.scratch / "volume", self.scratch / "mnt"
        self.mountpoint.mkdir()
        self.key = ["--key-file", self.scratch / "key"] if is_encrypted else []
        if is_encrypted:
            self.key[1].write_text("a passphrase\n")
        encryption = ["--encrypt", *self.key] if is_encrypted else []
        subprocess.run([self.tools / "mkfs.dedupfs", *encryption, *mkfs_options, self.volume], check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.mountpoint], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def mount(self, options=""):
        options = ",".join(filter(None, [options, f"key_file={self.key[1]}" if self.key else ""]))
        subprocess.run([self.tools / "dedupfs", self.volume, self.mountpoint, *(["-o", options] if options else [])], check=True)

    def daemon(self):
        """The number of the process that serves it."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.relpath(self.volume / "control.sock"))
            client.sendall(b'{"command": "info"}\n')
            return json.loads(client.makefile().readline())["pid"]

    def unmount(self):
        """Its notices are no part of what a benchmark prints."""
        done = subprocess.run([self.tools / "umount.dedupfs", self.mountpoint], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def settle(self):
        """CPU seconds."""
        before = os.times()
        subprocess.run([self.tools / "dedupfs-gc", "--settle", *self.key, self.volume], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def stat(self, *arguments):
        """What dedupfs-stat says of a volume, a mountpoint, or files."""
        shown = subprocess.run([self.tools / "dedupfs-stat", "--json", *arguments], check=True, capture_output=True, text=True)
        return json.loads(shown.stdout)

    def bytes_on_disk(self, folder=""):
        used = subprocess.run(["du", "-s", "--block-size=1", self.volume / folder], check=True, capture_output=True, text=True)
        return int(used.stdout.split()[0])
