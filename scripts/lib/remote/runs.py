"""What is measured, from an empty store on. All times are by the clock; CPU time is that of clients and daemons, not of the store."""
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

from peers.tool import Failure, Usage, cpu_seconds_so_far, wait_for

KEYS = {"AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "secret", "no_proxy": "127.0.0.1"}
BUCKET_COPY, LOCAL_COPY = "all files, by `cp -a`", "the same from the clone, mounted"
PATIENCE = 600  # seconds, for a mount and for the end of a daemon


@dataclasses.dataclass
class Step:
    """What something took, and what the store saw of it."""
    seconds: float
    cpu_seconds: float
    requests: dict
    received: int
    sent: int
    store_cpu_seconds: float

    def __add__(self, other):
        kinds = self.requests.keys() | other.requests.keys()
        return Step(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds,
                    {kind: self.requests.get(kind, 0) + other.requests.get(kind, 0) for kind in kinds},
                    self.received + other.received, self.sent + other.sent, self.store_cpu_seconds + other.store_cpu_seconds)

    def figures(self):
        return {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds, "received": self.received, "sent": self.sent,
                "store_cpu_seconds": self.store_cpu_seconds, "requests": sum(self.requests.values()),
                **{kind: self.requests.get(kind, 0) for kind in ("GET", "PUT", "HEAD", "LIST", "DELETE")}}


class StoreProcess:
    """The store, in a process of its own. A context manager."""

    def __init__(self, folder, delay, bandwidth, log=None):
        port_file = folder / "port"
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("store.py"), port_file, f"--delay={delay}",
                                         f"--bandwidth={bandwidth * 1e6}", *([f"--log={log}"] if log else [])], stdin=subprocess.PIPE)
        while not port_file.exists():
            if self.process.poll() is not None:
                raise Failure("the store did not start")
            time.sleep(0.02)
        self.endpoint = f"http://127.0.0.1:{port_file.read_text(encoding='utf-8')}"
        port_file.unlink()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, what):
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{self.endpoint}/-/{what}") as answer:
            return json.load(answer)

    def step(self, action):
        """Does it; it returns the CPU seconds that it took."""
        self.ask("reset")
        begin = time.perf_counter()
        cpu = action()
        seconds = time.perf_counter() - begin
        counts = self.ask("counts")
        return Step(seconds, cpu, counts["requests"], counts["received"], counts["sent"], counts["cpu_seconds"])


class Programs:
    """Runs programs with an environment that has nothing of the user's."""

    def __init__(self, folder, tools):
        self.folder, self.log = folder, folder / "log"
        home = folder / "home"
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(tools), os.environ["PATH"], "/usr/sbin", "/sbin"])
        self.environment = {"PATH": path, "HOME": str(home), "TMPDIR": str(home), "LC_ALL": "C.UTF-8", "RESTIC_PASSWORD": "bench",
                            "RESTIC_CACHE_DIR": str(folder / "restic-cache"), **KEYS}

    def start(self, *command):
        with open(self.log, "ab") as log:
            return subprocess.Popen([str(part) for part in command], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, *command):
        """Its CPU seconds."""
        process = self.start(*command)
        usage = wait_for(process)
        if process.returncode != 0:
            raise Failure(f"{' '.join(str(part) for part in command)} gave {process.returncode}: {self.last_words()}")
        return usage.cpu_seconds

    def json_of(self, *command):
        shown = subprocess.run([str(part) for part in command], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               check=False)
        if shown.returncode != 0:
            raise Failure(f"{command[0]} gave {shown.returncode}: {shown.stderr.strip()}")
        return json.loads(shown.stdout)

    def last_words(self):
        return " / ".join(self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:])

    def compare(self, one, other):
        """Byte by byte, files and trees."""
        diff = subprocess.run(["diff", "-r", "--no-dereference", one, other], env=self.environment, check=False, stdout=subprocess.DEVNULL)
        if diff.returncode != 0:
            raise Failure(f"{other} is not equal to {one}")


class Mount:
    """A volume, or one in a bucket. Its daemon runs in the foreground, so that its CPU time is known. Whoever leaves the `with` ends it."""

    def __init__(self, programs, source, mountpoint, options):
        self.programs, self.source, self.mountpoint, self.options = programs, source, mountpoint, [option for option in options if option]
        self.daemon, self.counted = None, 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.daemon:
            return
        # It was left by an exception.
        subprocess.run(["fusermount3", "-u", "-z", self.mountpoint], check=False, stderr=subprocess.DEVNULL)
        self.daemon.kill()
        self.daemon.wait()

    def mount(self):
        """The CPU seconds that it took."""
        self.counted = 0.0
        self.mountpoint.mkdir(exist_ok=True)
        self.daemon = self.programs.start("dedupfs", "-f", *(["-o", ",".join(self.options)] if self.options else []), self.source, self.mountpoint)
        deadline = time.monotonic() + PATIENCE
        while not os.path.ismount(self.mountpoint):
            if os.waitid(os.P_PID, self.daemon.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self.daemon = None
                raise Failure(f"the mount failed: {self.programs.last_words()}")
            if time.monotonic() > deadline:
                raise Failure("the mount does not answer")
            time.sleep(0.002)
        os.listdir(self.mountpoint)
        return self.new_cpu_seconds()

    def new_cpu_seconds(self):
        """The CPU time of the daemon since this was asked last."""
        before, self.counted = self.counted, cpu_seconds_so_far(self.daemon)
        return self.counted - before

    def run(self, *command):
        """Its CPU seconds, with those of the daemon."""
        return self.programs.run(*command) + self.new_cpu_seconds()

    def unmount(self):
        """Its CPU seconds, with what the daemon took until its end."""
        usage = Usage(cpu_seconds=self.programs.run("umount.dedupfs", self.mountpoint))
        daemon, self.daemon = self.daemon, None
        usage += wait_for(daemon, PATIENCE)
        if daemon.returncode != 0:
            raise Failure(f"the daemon gave {daemon.returncode}: {self.programs.last_words()}")
        return usage.cpu_seconds - self.counted


def remove(*places):
    for place in places:
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def bytes_of(place):
    """Of the data of a file, or of all files of a tree."""
    if place.is_file():
        return place.stat().st_size
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())


class Runs:
    """All that is done on one store. `name` is the beginning of the names of its figures."""

    def __init__(self, folder, programs, store, versions, figures, name):
        self.folder, self.programs, self.store, self.versions, self.figures, self.name = folder, programs, store, versions, figures, name
        self.mountpoint, self.restored = folder / "mnt", folder / "restored"
        # (what it is to a volume that has those before it, source, name in the volume)
        self.stored = [("new" if number == 0 else "near", version, version.name) for number, version in enumerate(versions)]
        self.stored.append(("again", versions[0], f"again-{versions[0].name}"))

    def note(self, where, step, **more):
        self.figures.add((*self.name, *where), **step.figures(), **more)

    def make_volume(self, name, place="", encrypted=False):
        volume = self.folder / name
        if encrypted:
            self.key_file().write_text("a passphrase\n", encoding="utf-8")
        self.programs.run("mkfs.dedupfs", *(["--encrypt", "--key-file", self.key_file()] if encrypted else []),
                          *(["--remote", f"s3://bucket/{place}", "--endpoint", self.store.endpoint] if place else []), volume)
        return volume

    def key_file(self):
        return self.folder / "key"

    def key_option(self, encrypted):
        return f"key_file={self.key_file()}" if encrypted else ""

    # ---------------------------------------------------------------- ingest

    def ingest(self, label, lag=None):
        """A volume takes all versions; with a lag, one that has a bucket. It is left there."""
        place = None if lag is None else f"lag-{lag}"
        volume = self.make_volume(place or "local", place or "")
        with Mount(self.programs, volume, self.mountpoint, [f"remote_lag={lag}" if place else ""]) as mount:
            mount.mount()
            whole = None
            for kind, source, name in self.stored:
                step = self.store.step(lambda source=source, name=name: mount.run("cp", "-a", source, self.mountpoint / name) +
                                       mount.run("dedupfs-sync", self.mountpoint))
                self.note(("ingest", label, kind), step, bytes=bytes_of(source))
                whole = whole + step if whole else step
            self.note(("ingest", label, "all"), whole, bytes=sum(bytes_of(source) for _, source, _ in self.stored))
            end = self.store.step(mount.unmount)
        self.note(("ingest", label, "unmount"), end)
        if not place:
            remove(volume)
            return None
        self.note(("ingest", label, "shipped"), whole + end, stored=self.stored_bytes(volume))
        return volume

    def stored_bytes(self, volume):
        """Of the files that the newest head has."""
        return self.programs.json_of("dedupfs-remote", "status", "--json", volume)["head"]["bytes"]

    # ---------------------------------------------------------------- nothing has changed

    def unchanged(self, volume):
        self.note(("unchanged", "push, unmounted"), self.store.step(lambda: self.programs.run("dedupfs-remote", "push", volume)))
        with Mount(self.programs, volume, self.mountpoint, []) as mount:
            mount.mount()
            self.note(("unchanged", "push, mounted: the first"), self.store.step(lambda: mount.run("dedupfs-remote", "push", volume)))
            self.come_to_rest(volume)
            self.note(("unchanged", "push, mounted: the next"), self.store.step(lambda: mount.run("dedupfs-remote", "push", volume)))
            self.note(("unchanged", "unmount"), self.store.step(mount.unmount))

    def come_to_rest(self, volume):
        """The mount may still write what it noted when it began, later on a machine that is busy."""
        for _ in range(20):
            if self.programs.json_of("dedupfs-remote", "push", "--json", volume)["shipped"]["head_bytes"] == 0:
                return
        raise SystemExit("a mount that nobody uses ships something each time")

    # ---------------------------------------------------------------- restore

    def restore(self, volume):
        address = f"s3://bucket/{volume.name}"
        stored, content = self.stored_bytes(volume), sum(bytes_of(source) for _, source, _ in self.stored)
        clone = self.folder / "clone"
        with Mount(self.programs, address, self.mountpoint, ["ro", f"endpoint={self.store.endpoint}"]) as mount:
            self.note(("restore", "mount of the bucket"), self.store.step(mount.mount), stored=stored)
            step = self.store.step(lambda: mount.run("cp", "-a", f"{self.mountpoint}/.", self.restored))
            self.note(("restore", BUCKET_COPY), step, stored=stored, bytes=content)
            self.compare(self.restored)
            remove(self.restored)
            mount.unmount()
        step = self.store.step(lambda: self.programs.run("dedupfs-remote", "clone", "--endpoint", self.store.endpoint, address, clone))
        objects = self.store.ask("got")
        self.note(("restore", "`dedupfs-remote clone`"), step, stored=stored, bytes=step.sent)
        with Mount(self.programs, clone, self.mountpoint, ["ro"]) as mount:
            mount.mount()
            step = self.store.step(lambda: mount.run("cp", "-a", f"{self.mountpoint}/.", self.restored))
            self.note(("restore", LOCAL_COPY), step, stored=stored, bytes=content)
            self.compare(self.restored)
            mount.unmount()
        remove(clone, self.restored)
        self.plain(objects)

    def compare(self, folder):
        for _, source, name in self.stored:
            self.programs.compare(source, folder / name)

    def plain(self, objects):
        """What the store allows: curl gets the objects of the clone, and puts them elsewhere."""
        plain = self.folder / "plain"
        config = self.folder / "curl"
        for at_once in (4, 1):
            for way in ("download", "upload"):
                lines = []
                for number, name in enumerate(objects):
                    file, url = plain / str(number), f"{self.store.endpoint}/bucket/"
                    lines.append(f'output = "{file}"\nurl = "{url}{name}"' if way == "download" else
                                 f'upload-file = "{file}"\nurl = "{url}plain-{at_once}/{number}"')
                # "Expect" would cost an upload a further answer.
                each = 'silent\nfail\nheader = "Expect:"\ncreate-dirs\n'
                config.write_text(each + f"\nnext\n{each}".join(lines) + "\n", encoding="utf-8")
                parallel = ["--parallel", "--parallel-immediate", "--parallel-max", at_once] if at_once > 1 else []
                step = self.store.step(lambda parallel=parallel: self.programs.run("curl", *parallel, "--config", config))
                moved = step.sent if way == "download" else step.received
                if moved != sum(objects.values()):
                    raise Failure(f"curl moved {moved} bytes, not {sum(objects.values())}: {self.programs.last_words()}")
                self.note(("plain", way, at_once), step, bytes=moved, objects=len(objects))
            remove(plain)

    # ---------------------------------------------------------------- beside restic and rclone

    def backups(self, label, backup, restore):
        """backup(version) and restore(version) are steps. The last one backs up what did not change."""
        for number, version in enumerate(self.versions, 1):
            self.note(("beside", f"version {number}", label), backup(version), bytes=bytes_of(version))
        newest = self.versions[-1]
        self.note(("beside", "nothing new", label), backup(newest), bytes=bytes_of(newest))
        self.note(("beside", "restore of the newest", label), restore(newest), bytes=bytes_of(newest))
        self.programs.compare(newest, self.restored / newest.name)
        remove(self.restored)

    def dedupfs(self, label, encrypted):
        """Files are copied if they are newer, and pushed: a backup is over when the bucket has it, as with restic."""
        place = "beside-encrypted" if encrypted else "beside"
        volume, key = self.make_volume(place, place, encrypted), self.key_option(encrypted)
        with contextlib.ExitStack() as stack:
            mount = stack.enter_context(Mount(self.programs, volume, self.mountpoint, ["remote_lag=0", key]))
            mount.mount()

            def backup(version):
                return self.store.step(lambda: mount.run("cp", "-au", version, self.mountpoint) + mount.run("dedupfs-remote", "push", volume))

            def restore(version):
                self.note(("beside", "unmount", label), self.store.step(mount.unmount))
                self.restored.mkdir()
                options = ["ro", f"endpoint={self.store.endpoint}", key]
                there = stack.enter_context(Mount(self.programs, f"s3://bucket/{place}", self.mountpoint, options))
                return self.store.step(lambda: there.mount() + there.run("cp", "-a", self.mountpoint / version.name, self.restored) + there.unmount())

            self.backups(label, backup, restore)
        remove(volume)

    def restic(self):
        restic = "restic", "--repo", f"s3:{self.store.endpoint}/bucket/restic"
        cache = self.folder / "restic-cache"
        remove(cache)
        self.programs.run(*restic, "init")

        def backup(version):
            return self.store.step(lambda: self.programs.run("env", "-C", version.parent, *restic, "backup", version.name))

        def restore(_):
            remove(cache)  # as on another machine
            self.restored.mkdir()
            return self.store.step(lambda: self.programs.run(*restic, "restore", "latest", "--target", self.restored))

        self.backups("restic", backup, restore)

    def rclone(self):
        """A copy of the files as they are: no version shares anything with another."""
        flags = ("--config", "/dev/null", "--s3-provider", "Other", "--s3-endpoint", self.store.endpoint, "--s3-env-auth", "--s3-no-check-bucket")

        def backup(version):
            return self.store.step(lambda: self.programs.run("rclone", "copyto", *flags, version, f":s3:bucket/rclone/{version.name}"))

        def restore(version):
            self.restored.mkdir()
            return self.store.step(lambda: self.programs.run("rclone", "copyto", *flags, f":s3:bucket/rclone/{version.name}", self.restored / version.name))

        self.backups("rclone", backup, restore)

    # ---------------------------------------------------------------- all

    def all(self, lags, peers, is_reversed):
        """In one round in two, local comes last: whatever grows with time is shared."""
        volumes = []
        kinds = [("local", None), *((f"bucket, remote_lag={lag}", lag) for lag in lags)]
        for label, lag in kinds[::-1] if is_reversed else kinds:
            volumes.append(self.ingest(label, lag))
        volumes = [volume for volume in volumes if volume]
        self.unchanged(volumes[0])
        self.restore(volumes[0])
        remove(*volumes)
        self.dedupfs("dedupfs", encrypted=False)
        self.dedupfs("dedupfs, encrypted", encrypted=True)
        for peer in peers:
            getattr(self, peer)()
