"""One tool on one data set, from an empty repository to the last restore. What comes out is a record for figures.py.

A record is a dictionary that JSON can hold. `versions` has a step for each version, in order; one step in all for a tool that
stores them at once. A step has `bytes` of the data, `seconds`, and `cpu_seconds` of clients and daemons. `restore` is a step,
`again` one or None. `settled` is None, or has `seconds`, `cpu_seconds`, `stored_bytes`, and `restore`. `error` is None or a text;
with a text, none of the others need be there.
"""
import pathlib
import subprocess
import tempfile

from .tool import Failure

AGAIN = "again"  # what the newest version is called when it is stored once more


def disk_bytes(folder):
    return int(subprocess.run(["du", "-s", "--block-size=1", folder], check=True, capture_output=True).stdout.split()[0])


def remove(folder):
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def warm(files):
    """Brings the files into the page cache."""
    for file in files:
        with open(file, "rb", buffering=0) as source:
            while source.read(1 << 20):
                pass


class DataSet:
    """The files of a folder, as versions in the order of their names; the oldest `limit` of them, if that is not None."""

    def __init__(self, folder, limit=None):
        self.name = folder.name
        self.versions = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))[:limit]
        if not self.versions:
            raise SystemExit(f"bench-peers: error: there are no files in {folder}")


def step(files, usage):
    return {"bytes": sum(file.stat().st_size for file in files), "seconds": usage.seconds, "cpu_seconds": usage.cpu_seconds}


class Measurement:
    def __init__(self, tool, data):
        self.tool, self.data, self.peak = tool, data, 0
        self.restored = tool.folder / "restored"

    def note(self, usage):
        self.peak = max(self.peak, usage.peak_bytes)
        return usage

    def store(self, files, names):
        warm(files)
        usage = self.tool.store_all(files, names) if self.tool.at_once else self.tool.store(files[0], names[0])
        return step(files, self.note(usage + self.tool.run("sync", "-f", self.tool.repository)))

    def store_versions(self):
        files = self.data.versions
        names = [file.name for file in files]
        steps = [self.store(files, names)] if self.tool.at_once else [
            self.store([file], [name]) for file, name in zip(files, names)]
        steps[-1]["cpu_seconds"] += self.note(self.tool.rest()).cpu_seconds  # so that nothing is left out
        return steps

    def restore_and_compare(self, file):
        self.restored.mkdir()
        usage = self.note(self.tool.restore(file.name, self.restored))
        found = [path for path in self.restored.rglob("*") if path.is_file()]
        if len(found) != 1 or subprocess.run(["cmp", "-s", file, found[0]], check=False).returncode != 0:
            raise Failure(f"{file.name} was not restored as it was")
        remove(self.restored)
        return step([file], usage)

    def restore_newest(self):
        """Cold for the tool: nothing of it is in memory."""
        newest = self.restore_and_compare(self.data.versions[-1])
        self.note(self.tool.rest())
        return newest

    def settle(self):
        usage = self.tool.settle()
        if usage is None:
            return None
        usage = self.note(usage) + self.note(self.tool.rest())
        return {"seconds": usage.seconds, "cpu_seconds": usage.cpu_seconds, "stored_bytes": disk_bytes(self.tool.repository),
                "restore": self.restore_newest()}

    def run(self, compare_all):
        """The record, without what names it."""
        tool, data = self.tool, self.data
        tool.create()
        record = {"versions": self.store_versions(), "stored_bytes": disk_bytes(tool.repository),
                  "restore": self.restore_newest(), "settled": self.settle(), "again": None}
        if not tool.at_once:
            record["again"] = self.store(data.versions[-1:], [AGAIN])
            self.note(tool.rest())
        if compare_all:
            for file in data.versions[:-1]:
                self.restore_and_compare(file)
            self.note(tool.rest())
        return {**record, "peak_bytes": self.peak}


def measure(kind, data, parent, search_path, number=0):
    """The record of one round of one tool on one data set. The first round compares every version, later ones the newest."""
    record = {"set": data.name, "names": [file.name for file in data.versions], "tool": kind.key, "label": kind.label,
              "program": kind.version(search_path), "round": number, "error": None}
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{data.name}-{kind.key}.", dir=parent))
    try:
        with kind(folder, search_path) as tool:
            record.update(Measurement(tool, data).run(compare_all=number == 0))
    except (Failure, OSError) as error:
        record["error"] = str(error)
    finally:
        remove(folder)
    return record
