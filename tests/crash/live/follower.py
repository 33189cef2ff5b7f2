"""A mount that follows the heads of a bucket, and somebody who reads all of it again and again."""
import multiprocessing
import os

from live.machine import Daemon, Violation, wait_until


def read_all(folder, sizes, content_of, stop, sending):
    """Says what a listing had, with whether each file was whole, if nothing came or went meanwhile; otherwise nothing. What another head took away
    gives errors, as a store does that is gone."""
    while not stop.wait(0.02):
        try:
            names = sorted(os.listdir(folder))
            for name in names:
                bytes_there = (folder / name).read_bytes()
                if not any(content_of(name, size).startswith(bytes_there) for size in sizes):
                    sending.send(("wrong", name))
            if sorted(os.listdir(folder)) == names:
                sending.send(("saw", names))
        except OSError as error:
            sending.send(("refused", str(error)))


class Follower:
    """Each file has a number that is never used again, and one process makes and removes them, so every state that was published can be told: what
    was acknowledged before its newest file was made is there, and what was removed before is not."""

    def __init__(self, tools, folder, address, options, within, sizes, content_of):
        self.mountpoint = folder / "mnt"
        self.mountpoint.mkdir(parents=True)
        self.daemon = Daemon(tools, address, str(self.mountpoint), str(folder / "log"), 60, within)
        self.daemon.start(options)
        self.looks = self.refusals = 0
        self.shown, self.newest = None, 0
        self.events, sending = multiprocessing.Pipe(duplex=False)
        self.stopped = multiprocessing.Event()
        self.process = multiprocessing.Process(target=read_all, args=(self.mountpoint, sizes, content_of, self.stopped, sending))
        self.process.start()
        sending.close()

    def judge(self, made, removed):
        """`made`, `removed`: of each name, in which operation, and whether that was acknowledged: then every later state has it."""
        try:
            while self.events.poll():
                what, seen = self.events.recv()
                if what == "wrong":
                    raise Violation(f"a mount that follows shows bytes in {seen} that nobody wrote")
                if what == "refused":
                    self.refusals += 1
                    continue
                self.looks += 1
                if seen == self.shown:
                    continue
                self.judge_state(set(seen), made, removed)
                self.shown = seen
        except EOFError:
            raise Violation("whoever reads the mount that follows has ended") from None

    def judge_state(self, seen, made, removed):
        unknown = seen - made.keys()
        if unknown:
            raise Violation(f"a mount that follows shows {sorted(unknown)}, which nobody made")
        newest = max((made[name][0] for name in seen), default=0)
        if newest < self.newest and not any(operation > newest for operation, _ in removed.values()):
            raise Violation("a mount that follows went back to an older state")
        self.newest = max(newest, self.newest)
        for name, (operation, acknowledged) in made.items():
            if operation < newest and acknowledged and name not in seen and name not in removed:
                raise Violation(f"a mount that follows does not show {name}, but what was made later")
        for name, (operation, acknowledged) in removed.items():
            if operation < newest and acknowledged and name in seen:
                raise Violation(f"a mount that follows shows {name}, and what was made after its removal")

    def must_show(self, names, made, removed, seconds):
        def shows():
            self.judge(made, removed)
            return self.shown == sorted(names)

        if not wait_until(seconds, shows, pause=0.05):
            raise Violation(f"after {seconds} s, a mount that follows shows {self.shown}, and the bucket has {sorted(names)}")

    def close(self):
        self.stopped.set()
        self.process.kill()
        self.process.join()
        self.daemon.kill()
        self.daemon.clear()
