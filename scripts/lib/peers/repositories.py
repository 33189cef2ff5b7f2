"""Backup programs, each with a repository of its own that only it reads."""
from .tool import Failure, Tool


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
    compression = ()
    programs = packages = ("restic",)
    version_arguments = ("version",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment.update(RESTIC_REPOSITORY=str(self.repository), RESTIC_PASSWORD="bench",
                                RESTIC_CACHE_DIR=str(self.home / "cache"))

    def create(self):
        self.run("restic", "init")

    def store(self, file, name):
        return self.store_as(name, "snapshot_id", "restic", "backup", "--json", "--force", *self.compression, file.name,
                             cwd=file.parent)

    def restore(self, name, folder):
        return self.run("restic", "restore", self.snapshots[name], "--target", folder)


class ResticMax(Restic):
    key, label = "restic-max", "restic `--compression max`"
    compression = ("--compression", "max")


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


class Bup(Tool):
    key, label = "bup", "bup"
    programs = packages = ("bup",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment.update(BUP_DIR=str(self.repository))
        self.branches = {}  # by the names that we give, which need not be names for git

    def create(self):
        self.run("bup", "init")

    def store(self, file, name):
        self.branches[name] = f"version-{len(self.branches)}"
        return self.run("bup", "split", "--name", self.branches[name], file)

    def restore(self, name, folder):
        return self.run("bup", "join", self.branches[name], output=folder / name)
