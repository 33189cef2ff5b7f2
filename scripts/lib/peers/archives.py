"""Tools that write files: archives, and folders of chunks or differences."""
from .tool import Failure, Tool, Usage


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
