#!/usr/bin/python3
"""Kills the daemon of a volume that has a bucket, the store, and whoever takes over, at random moments. After each, a second machine restores what
the bucket has, and compares it byte by byte with what was acknowledged. All the time, a mount follows the heads, and somebody reads it.

Usage: remote_campaign.py --tools FOLDER [--cycles N] [--seconds S] [--seed S] [--encrypted] [--live]

The store is tests/remote/s3_server.py over a folder. The second machine is a network namespace and folders of its own; without the right to make one
(root), only folders. The last line is "N cycles, N kills, N takeovers, N files compared, N looks at what follows, N violations".

What must hold: with durability=remote, a file is in the bucket when fsync of it and of its folder has returned, and one that was removed is not.
What was not acknowledged may be there, but only as a prefix of what was written. Whoever was replaced by a takeover gets errors, and changes nothing. The mount that follows shows states that were published, one after the other, and the
newest soon.
"""
import argparse
import hashlib
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from live.follower import Follower
from live.machine import Daemon, Violation, run, wait_until

ADDRESS = "s3://bucket/volume"
OPTIONS = ("durability=remote,remote_lag=0", "durability=remote", "durability=remote,remote_lag=1,slow_source=0",
           "durability=remote,remote_lag=0,remote_cache=16m", "remote_lag=1")  # fmt: skip
ENDINGS = ("daemon", "daemon", "server", "server", "both", "unmount", "takeover")
SIZES = (100, 5000, 60_000, 700_000)
HERE = pathlib.Path(__file__).resolve().parent


def content_of(name, size):
    """Half of it can be compressed, and the rest is the same in many files."""
    shared = random.Random(int(name[1:]) % 7).randbytes(size // 2)
    own = hashlib.shake_256(name.encode()).hexdigest(size // 4 + 1).encode()
    return (shared + own)[:size]


class Machine:
    """Where a volume is mounted: folders, and a network of its own if `within` names one."""

    def __init__(self, campaign, name, within=()):
        self.campaign, self.within = campaign, within
        self.folder = campaign.scratch / name
        self.volume, self.mountpoint = self.folder / "volume", self.folder / "mnt"
        self.mountpoint.mkdir(parents=True)
        self.daemon = None

    def tool(self, name, *arguments, check=True, timeout=120):
        return run(*self.within, os.path.join(self.campaign.tools, name), *map(str, arguments), check=check, timeout=timeout)

    def mount(self, options):
        self.daemon = Daemon(self.campaign.tools, str(self.volume), str(self.mountpoint), str(self.folder / "log"), 60, self.within)
        self.daemon.start(",".join(filter(None, (options, self.campaign.key_option))))

    def kill(self):
        if self.daemon:
            self.daemon.kill()
            self.daemon.clear()
        self.daemon = None

    def unmount(self):
        self.daemon.stop()
        self.daemon = None

    def forget_volume(self):
        self.kill()
        shutil.rmtree(self.volume, ignore_errors=True)


def write_files(folder, is_remote, seed, there, files, stop, events):
    """Makes and removes files until it is stopped or the mount goes away. Says what it tries, and what fsync has acknowledged."""
    chance, there = random.Random(seed), dict(there)

    def sync_folder():
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    try:
        while not stop.is_set():
            if there and chance.random() < 0.3:
                name = chance.choice(sorted(there))
                events.send(("removes", name, there.pop(name)))
                (folder / name).unlink()
            else:
                files += 1
                name, size = f"f{files}", chance.choice(SIZES)
                events.send(("makes", name, size))
                content = content_of(name, size)
                with open(folder / name, "wb", buffering=0) as file:
                    for begin in range(0, size, 1 << 17):
                        file.write(content[begin:begin + (1 << 17)])
                    os.fsync(file.fileno())
                there[name] = size
            sync_folder()
            events.send(("acknowledged" if is_remote else "stored", name, there.get(name)))
    except OSError as error:
        events.send(("failed", str(error), None))


class Writer:
    """A process, since whoever starts programs must have nothing open on a mount that hangs. Keeps the books of the campaign."""

    def __init__(self, campaign, folder, is_remote):
        self.campaign, self.is_remote = campaign, is_remote
        self.acknowledgements, self.error = 0, None
        self.events, sending = multiprocessing.Pipe(duplex=False)
        self.stopped = multiprocessing.Event()
        self.process = multiprocessing.Process(target=write_files, args=(
            folder, is_remote, campaign.random.random(), campaign.there, campaign.files, self.stopped, sending))  # fmt: skip
        self.process.start()
        sending.close()

    def read_events(self):
        campaign = self.campaign
        try:
            while self.events.poll():
                what, name, size = self.events.recv()
                if what == "failed":
                    self.error = name
                elif what in ("makes", "removes"):
                    campaign.files = max(campaign.files, int(name[1:]))
                    campaign.there.pop(name, None)
                    campaign.uncertain[name] = size
                    campaign.operations += 1
                    (campaign.made if what == "makes" else campaign.removed)[name] = (campaign.operations, False)
                else:
                    self.acknowledgements += 1
                    if what == "acknowledged":
                        del campaign.uncertain[name]
                        if size is not None:
                            campaign.there[name] = size
                        book = campaign.removed if size is None else campaign.made
                        book[name] = (book[name][0], True)
        except EOFError:
            pass

    def acknowledged(self):
        self.read_events()
        return self.acknowledgements

    def join(self, timeout=90):
        if not wait_until(timeout, lambda: self.read_events() or not self.process.is_alive()):
            raise Violation(f"after {timeout} s a write has neither succeeded nor failed")
        self.read_events()

    def stop(self):
        self.stopped.set()
        self.join()


class Campaign:
    def __init__(self, arguments, scratch):
        self.tools, self.scratch, self.random = arguments.tools, scratch, random.Random(arguments.seed)
        self.key_option, self.key_arguments = "", []
        if arguments.encrypted:
            key = scratch / "key"
            key.write_text(f"secret {arguments.seed}", encoding="ascii")
            key.chmod(0o600)
            self.key_option, self.key_arguments = f"key_file={key}", ["--key-file", key]
        self.encrypted, self.live = arguments.encrypted, arguments.live
        self.made, self.removed, self.operations = {}, {}, 0  # of each name: in which operation, and whether it was acknowledged
        self.there, self.uncertain, self.files = {}, {}, 0  # names of files, with their sizes
        self.endings = []  # of the next cycles
        self.kills = self.takeovers = self.compared = self.violations = self.cycles = 0
        self.objects = scratch / "objects"
        self.objects.mkdir()
        self.server = self.follower = None
        self.namespace = f"dedupfs-{os.getpid()}"
        self.second_within = ()

    # ---------------------------------------------------------------- the store, and the way to it

    def open(self):
        os.environ.update(AWS_ACCESS_KEY_ID="access", AWS_SECRET_ACCESS_KEY="secret", no_proxy="*")
        address = "127.0.0.1"
        try:
            run("ip", "netns", "add", self.namespace)
            link = f"dd{os.getpid()}"
            run("ip", "link", "add", link + "a", "type", "veth", "peer", "name", link + "b", "netns", self.namespace)
            net = f"198.18.{os.getpid() >> 6 & 255}"  # for measurements between networks (RFC 2544); other campaigns have others
            host = (os.getpid() & 63) * 4
            run("ip", "address", "add", f"{net}.{host + 1}/30", "dev", link + "a")
            run("ip", "link", "set", link + "a", "up")
            self.second_within = ("nsenter", f"--net=/run/netns/{self.namespace}")  # "ip netns exec" would have mounts of its own, too
            run(*self.second_within, "ip", "address", "add", f"{net}.{host + 2}/30", "dev", link + "b")
            run(*self.second_within, "ip", "link", "set", link + "b", "up")
            address = f"{net}.{host + 1}"
        except (Violation, OSError) as error:
            print(f"no network for the second machine: {error}", flush=True)
            self.second_within = ()
        self.address, self.port = address, 0
        self.start_server()
        self.first, self.second = Machine(self, "first"), Machine(self, "second", self.second_within)
        self.first.tool("mkfs.dedupfs", *(["--encrypt", "--kdf-memory", "8m"] if self.encrypted else []), *self.key_arguments, self.first.volume)
        self.first.tool("dedupfs-remote", "attach", "--endpoint", self.endpoint, self.first.volume, ADDRESS)
        self.first.tool("dedupfs-remote", "push", self.first.volume)
        options = ",".join(filter(None, ("ro,remote_follow=1", f"endpoint={self.endpoint}", self.key_option)))
        self.follower = Follower(self.tools, self.scratch / "follower", ADDRESS, options, self.second_within, SIZES, content_of)

    def start_server(self):
        port_file = self.scratch / "port"
        port_file.unlink(missing_ok=True)
        with open(self.scratch / "server.log", "ab") as log:
            self.server = subprocess.Popen(["/usr/bin/python3", "-B", HERE / "../remote/s3_server.py", "--address", self.address, "--port", str(self.port),
                                            "--folder", self.objects, "--port-file", port_file], stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # fmt: skip
        if not wait_until(30, port_file.exists):
            raise RuntimeError("the store does not start: " + (self.scratch / "server.log").read_text(errors="replace")[-1000:])
        self.port = int(port_file.read_text(encoding="ascii"))
        self.endpoint = f"http://{self.address}:{self.port}"

    def kill_server(self):
        self.server.kill()
        self.server.wait()
        self.kills += 1

    def close(self):
        if self.follower:
            self.follower.close()
        for machine in (self.first, self.second):
            machine.kill()
        self.server.kill()
        self.server.wait()
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False, stderr=subprocess.DEVNULL)

    # ---------------------------------------------------------------- what happens

    def next_ending(self):
        """Each as often as it is in ENDINGS, in random order. A takeover is among the first two: there may be time for no more."""
        if not self.endings:
            self.endings = [*ENDINGS, *(["takeover"] * 3 if self.live else [])]
            self.random.shuffle(self.endings)
            if self.cycles == 1:
                self.endings.remove("takeover")
                self.endings.insert(-1, "takeover")
        return self.endings.pop()

    def cycle(self):
        self.cycles += 1
        options = self.random.choice(OPTIONS)
        self.first.mount(options)
        writer = Writer(self, self.first.mountpoint, is_remote="durability=remote" in options)
        jobs = [self.start_job(*job) for job in self.jobs()]
        time.sleep(self.random.uniform(0.2, 2.5))
        what = self.next_ending()
        if what == "takeover" and (self.live or self.random.random() < 0.5):
            self.take_over_from_living(writer)
        elif what == "takeover":
            self.take_over(writer)
        elif what == "unmount":
            writer.stop()
            self.first.unmount()
        else:
            if what != "daemon":
                self.kill_server()
            if what == "server":
                time.sleep(self.random.uniform(0, 1))
                self.start_server()
                acknowledged = writer.acknowledged()
                if not wait_until(60, lambda: writer.acknowledged() > acknowledged or writer.error):
                    raise Violation("a minute after the store came back, nothing is acknowledged")
            self.first.kill()
            self.kills += 1
            writer.stop()
            if what == "both":
                self.start_server()
        for job in jobs:
            job.wait(timeout=120)
        self.judge()

    def jobs(self):
        """What may run beside the writer."""
        if self.random.random() < 0.4:
            yield "dedupfs-gc", self.first.mountpoint
        if self.random.random() < 0.4:
            yield "dedupfs-remote", "push", "--grace", "0", self.first.mountpoint

    def start_job(self, name, *arguments):
        return subprocess.Popen([os.path.join(self.tools, name), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def clone(self):
        """On the second machine, as of now."""
        self.second.forget_volume()
        self.second.tool("dedupfs-remote", "clone", "--endpoint", self.endpoint, ADDRESS, self.second.volume)

    def die_while_taking_over(self, most_seconds):
        dying = subprocess.Popen([*self.second_within, os.path.join(self.tools, "dedupfs-remote"), "takeover", str(self.second.volume)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(self.random.uniform(0, most_seconds))
        dying.kill()
        dying.wait()
        self.kills += 1

    def take_over(self, writer):
        """The first machine hangs, the second one goes on in its place, and then the first one wakes up."""
        os.kill(self.first.daemon.process.pid, signal.SIGSTOP)
        self.clone()
        if self.random.random() < 0.5:  # who takes over dies meanwhile, and tries again
            self.die_while_taking_over(0.1)
        # What the first one had sent may have come since.
        if self.second.tool("dedupfs-remote", "takeover", self.second.volume, check=False)[1] != 0:
            self.clone()
            self.second.tool("dedupfs-remote", "takeover", self.second.volume)
        self.takeovers += 1
        acknowledged, there = writer.acknowledged(), dict(self.there)
        os.kill(self.first.daemon.process.pid, signal.SIGCONT)
        if not writer.is_remote:
            time.sleep(self.random.uniform(0, 1))
            writer.stopped.set()
        writer.join()
        # What was in the bucket before may be acknowledged now, and nothing more.
        if writer.is_remote and writer.acknowledged() > acknowledged + 1:
            raise Violation("the first machine acknowledges after the takeover")
        self.first.kill()
        self.second.mount("durability=remote,remote_lag=0")
        self.compare(self.second.mountpoint, there)
        self.go_on_as_first()

    def take_over_from_living(self, writer):
        """The first machine goes on all the time, so no clone is at the newest head."""
        self.clone()
        acknowledged = writer.acknowledged()
        wait_until(1, lambda: writer.acknowledged() > acknowledged or writer.error)
        while self.random.random() < 0.5:  # who takes over dies meanwhile, and tries again
            self.die_while_taking_over(0.3)
        output, status = self.second.tool("dedupfs-remote", "takeover", self.second.volume, check=False)
        if status != 0 and "clone it anew" in output:  # it died between the end of its clone and the note of that
            self.clone()
            self.second.tool("dedupfs-remote", "takeover", self.second.volume)
        elif status != 0:
            raise Violation(f"the takeover from a machine that goes on gave {status}: {output}")
        self.takeovers += 1
        writer.join()  # it ends by itself: its machine is fenced
        if not writer.error:
            raise Violation("the first machine goes on after the takeover")
        self.first.kill()
        self.second.mount("durability=remote,remote_lag=0")
        self.compare(self.second.mountpoint)
        self.go_on_as_first()

    def go_on_as_first(self):
        """The second machine becomes the first, when it has shown that it can write."""
        writer = Writer(self, self.second.mountpoint, is_remote=True)
        if not wait_until(60, lambda: writer.acknowledged() >= 2 or writer.error) or writer.error:
            raise Violation(f"whoever took over cannot write: {writer.error}")
        writer.stop()
        self.second.unmount()
        self.first.forget_volume()
        shutil.move(self.second.volume, self.first.volume)

    # ---------------------------------------------------------------- the judge

    def judge(self):
        self.clone()
        output, status = self.second.tool("fsck.dedupfs", "--verify-data", *self.key_arguments, self.second.volume, check=False)
        if status != 0:
            raise Violation(f"fsck.dedupfs of the clone gave {status}: {output}")
        self.second.mount("ro")
        self.compare(self.second.mountpoint)
        names = os.listdir(self.second.mountpoint)
        self.second.unmount()
        self.follower.must_show(names, self.made, self.removed, 90)

    def compare(self, folder, there=None):
        there = self.there if there is None else there
        found = set(os.listdir(folder))
        for name, size in there.items():
            if name not in found:
                raise Violation(f"{name}, which was acknowledged, is not in the bucket")
            if (folder / name).read_bytes() != content_of(name, size):
                raise Violation(f"{name} is not what was acknowledged")
            self.compared += 1
        for name in found - there.keys():
            if name not in self.uncertain and name not in self.there:
                raise Violation(f"{name} is in the bucket, and its removal was acknowledged")
            if not content_of(name, self.uncertain.get(name, self.there.get(name))).startswith((folder / name).read_bytes()):
                raise Violation(f"{name}, which was not acknowledged, has bytes that nobody wrote")
            self.compared += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no cycle after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--live", action="store_true", help="the first machine never hangs when another one takes over")
    arguments = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dedupfs-remote-campaign."))
    campaign = Campaign(arguments, scratch)
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        campaign.open()
        while campaign.cycles < arguments.cycles and time.monotonic() - begin < arguments.seconds:
            campaign.cycle()
    except Violation as violation:
        campaign.violations += 1
        print(f"VIOLATION in cycle {campaign.cycles} of --seed {arguments.seed}: {violation}; evidence is in {scratch}", flush=True)
    finally:
        campaign.close()
    if not campaign.violations:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{campaign.cycles} cycles, {campaign.kills} kills, {campaign.takeovers} takeovers, {campaign.compared} files compared, "
          f"{campaign.follower.looks if campaign.follower else 0} looks at what follows, "
          f"{campaign.violations} violations", flush=True)
    return 1 if campaign.violations or not campaign.compared else 0


if __name__ == "__main__":
    sys.exit(main())
