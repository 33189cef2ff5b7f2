"""The workload: workers, each a process that changes a folder of its own and tells the parent about it through a pipe.

What a worker does follows from its seed and the folder it begins with, so that the parent can do it again on a model. Each
operation is one request to the daemon, so that it either happened or not. Workers share content, not names.
"""
import ctypes
import errno
import os
import random
import struct
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PUNCH_HOLE_KEEP_SIZE = 3
EVENT = struct.Struct("<ciqi")  # STARTED, RETURNED or FAILED; number of the operation; monotonic ns; errno
STARTED, RETURNED, FAILED = b"S", b"R", b"F"
MOST_ENTRIES = 36
LARGEST_FILE = 3 << 19
MODES = (0o600, 0o640, 0o644, 0o755, 0o400)

# Weights of operations: as a database, as a careful program, as one that leaves durability to the system.
TEMPERS = (
    {"write": 10, "append": 10, "fsync": 12, "replace": 1, "create": 1, "remove": 1},
    {"create": 6, "write": 8, "append": 8, "copy_range": 4, "copy": 3, "edit": 3, "truncate": 3, "punch": 1, "rename": 4, "link": 3,
     "remove": 5, "mkdir": 2, "symlink": 1, "mkfifo": 1, "chmod": 2, "chown": 1, "setxattr": 3, "removexattr": 1, "fsync": 4, "replace": 4},
    {"create": 8, "append": 8, "write": 6, "copy": 5, "edit": 5, "copy_range": 5, "remove": 6, "rename": 4, "truncate": 2, "link": 2,
     "setxattr": 2, "chmod": 1, "mkdir": 2, "fsync": 1},
)  # fmt: skip


def described_noise(text, length):
    """Does not compress; each 512 bytes say where they were meant to be."""
    noise = random.Random(text).randbytes(length)
    blocks = [(f"{text} +{at};".encode() + noise[at : at + 512])[:512] for at in range(0, length, 512)]
    return b"".join(blocks)[:length]


POOL = [random.Random(f"pool {i}").randbytes(300_000) for i in range(6)]  # content that many files share


class Generator:
    """Decides what comes next, on a tree that it keeps up to date."""

    def __init__(self, seed, tree, bulk=0):
        self.random, self.tree, self.seed, self.number = random.Random(f"workload {seed}"), tree, seed, 0
        self.temper = self.random.choice(TEMPERS)
        self.kinds, self.weights = list(self.temper), list(self.temper.values())
        self.queue = []
        for i in range(bulk):  # fills a container
            self.queue += [("create", f"bulk{i}", 0o600), ("append", f"bulk{i}", described_noise(f"{seed} bulk {i}", (1 << 20) - 8192))]

    def next(self):
        op = None
        while op is None:
            op = self.queue.pop(0) if self.queue else self._choose()
        self.number += 1
        self.tree.apply(op)
        return op

    def _choose(self):
        if len(self.tree.names) > MOST_ENTRIES:
            return self._remove()
        return getattr(self, "_" + self.random.choices(self.kinds, self.weights)[0])()

    def _content(self, limit):
        exponent = self.random.choice((6, 10, 12, 14, 16, 18, 18))
        length = max(1, min(limit, self.random.randrange(1 << exponent)))
        kind = self.random.randrange(5)
        if kind == 0:
            return b"%08d a line of a log\n" % self.random.randrange(50) * (length // 25 + 1)
        if kind == 1:
            return bytes(length)
        if kind == 2:
            return described_noise(f"{self.seed} op {self.number}", length)
        start = self.random.choice((0, 0, 4096, self.random.randrange(4096)))
        data = self.random.choice(POOL)[start : start + length]
        return self._edited(data) if kind == 4 else data

    def _edited(self, data):
        edited = bytearray(data)
        for _ in range(1 + len(data) // 20000):
            at = self.random.randrange(len(edited) + 1)
            edited[at : at + self.random.choice((0, 4))] = f"<{self.seed} {self.number}>".encode()[:12]
        return bytes(edited[:LARGEST_FILE])

    def _file(self):
        files = self.tree.paths("f")
        return self.random.choice(files) if files else None

    def _new_name(self):
        folder = self.random.choice(["", "", *self.tree.paths("d")])
        path = os.path.join(folder, f"{self.random.choice('abc')}{self.random.randrange(100)}")
        return None if path in self.tree.names or path.count("/") > 4 else path

    def _create(self):
        path = self._new_name()
        if path is not None and self.random.random() < 0.8:
            self.queue.append(("append", path, self._content(LARGEST_FILE)))
        return path and ("create", path, self.random.choice(MODES))

    def _mkdir(self):
        path = self._new_name()
        return path and ("mkdir", path, 0o755)

    def _symlink(self):
        path = self._new_name()
        return path and ("symlink", path, f"to {self.number}")

    def _mkfifo(self):
        path = self._new_name()
        return path and ("mkfifo", path, 0o600)

    def _write(self):
        path = self._file()
        if path is None:
            return self._create()
        offset = self.random.randrange(len(self.tree.names[path].data) + 5000)
        if offset >= LARGEST_FILE:
            return ("truncate", path, self.random.randrange(LARGEST_FILE))
        return ("write", path, offset, self._content(LARGEST_FILE - offset))

    def _append(self):
        path = self._file()
        if path is None:
            return self._create()
        if len(self.tree.names[path].data) >= LARGEST_FILE:
            return ("truncate", path, self.random.randrange(1000))
        return ("append", path, self._content(LARGEST_FILE))

    def _truncate(self):
        path = self._file()
        return path and ("truncate", path, self.random.randrange(len(self.tree.names[path].data) + 9000))

    def _punch(self):
        path = self._file()
        if path is None or not self.tree.names[path].data:
            return None
        return ("punch", path, self.random.randrange(len(self.tree.names[path].data)), self.random.randrange(1, 100_000))

    def _copy_range(self):
        source, path = self._file(), self._file()
        if source is None or source == path or self.tree.names[source] is self.tree.names[path]:
            return None
        size = len(self.tree.names[source].data)
        if size == 0:
            return None
        from_offset = self.random.choice((0, self.random.randrange(size)))
        to_offset = self.random.choice((0, self.random.randrange(len(self.tree.names[path].data) + 1)))
        length = self.random.choice((size, 1 + self.random.randrange(size)))
        return ("copy_range", source, from_offset, path, to_offset, min(length, size - from_offset))

    def _copy(self, change=lambda data: data):
        source, path = self._file(), self._new_name()
        if source is None or path is None or not self.tree.names[source].data:
            return None
        data = change(self.tree.names[source].data)
        step = 1 << 19
        self.queue += [("append", path, data[at : at + step]) for at in range(0, len(data), step)]
        return ("create", path, 0o644)

    def _edit(self):
        return self._copy(self._edited)

    def _replace(self):
        path, new = self._file(), self._new_name()
        if path is None or new is None:
            return None
        self.queue += [("append", new, self._content(LARGEST_FILE)), ("fsync", new), ("rename", new, path)]
        if self.random.random() < 0.5:
            self.queue.append(("fsync", os.path.dirname(path)))
        return ("create", new, 0o644)

    def _rename(self):
        if self.random.random() < 0.3 and (path := self._file()) and (to := self._file()):
            return ("rename", path, to) if path != to else None
        path, to = self.random.choice(list(self.tree.names) or [None]), self._new_name()
        if path is None or to is None or to.startswith(path + "/"):
            return None
        return ("rename", path, to)

    def _link(self):
        path, to = self._file(), self._new_name()
        return path and to and ("link", path, to)

    def _remove(self):
        leaves = [path for path, inode in self.tree.names.items() if inode.kind != "d" or not self.tree.children(path)]
        return ("remove", self.random.choice(leaves)) if leaves else None

    def _chmod(self):
        path = self._file()
        return path and ("chmod", path, self.random.choice(MODES))

    def _chown(self):
        path = self._file()
        return path and ("chown", path, self.random.randrange(3), self.random.randrange(3))

    def _setxattr(self):
        path = self._file()
        return path and ("setxattr", path, f"user.{self.random.randrange(4)}", self.random.randbytes(self.random.choice((5, 200))))

    def _removexattr(self):
        path = self._file()
        names = list(self.tree.names[path].xattrs) if path else []
        return ("removexattr", path, names[0]) if names else None

    def _fsync(self):
        return ("fsync", self.random.choice(["", *self.tree.paths("d"), *self.tree.paths("f") * 2]))


class Hands:
    """Does operations in a real folder. Some files are kept open, also beyond their removal."""

    MOST_KEPT = 5

    def __init__(self, root, seed):
        self.root, self.random, self.kept = root, random.Random(f"hands {seed}"), []

    def do(self, op):
        getattr(self, "_" + op[0])(*op[1:])

    def _at(self, path):
        return os.path.join(self.root, path)

    def _open(self, path, flags=None):
        for kept, fd in self.kept:
            if kept == path:
                return fd
        # Write-only files bypass the page cache.
        fd = os.open(self._at(path), flags or self.random.choice((os.O_WRONLY, os.O_RDWR)))
        self.kept.append((path, fd))
        if len(self.kept) > self.MOST_KEPT:
            os.close(self.kept.pop(self.random.randrange(self.MOST_KEPT))[1])
        return fd

    def _forget(self, *paths):
        """Their names lead to other files now; the files stay open."""
        self.kept = [(None if kept and any((kept + "/").startswith(path + "/") for path in paths) else kept, fd) for kept, fd in self.kept]

    def _all(self, done, length):
        if done != length:
            raise OSError(errno.EDOM, f"{done} of {length} bytes")  # no crash does that

    def _create(self, path, mode):
        fd = os.open(self._at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        self._forget(path)
        self.kept.append((path, fd))
        if len(self.kept) > self.MOST_KEPT:
            os.close(self.kept.pop(0)[1])

    def _mkdir(self, path, mode):
        os.mkdir(self._at(path), mode)

    def _symlink(self, path, target):
        os.symlink(target, self._at(path))

    def _mkfifo(self, path, mode):
        os.mkfifo(self._at(path), mode)

    def _write(self, path, offset, data):
        self._all(os.pwrite(self._open(path), data, offset), len(data))

    def _append(self, path, data):
        fd = os.open(self._at(path), os.O_WRONLY | os.O_APPEND)
        try:
            self._all(os.write(fd, data), len(data))
        finally:
            os.close(fd)

    def _copy_range(self, source, from_offset, path, to_offset, length):
        fd = os.open(self._at(source), os.O_RDONLY)
        try:
            self._all(os.copy_file_range(fd, self._open(path), length, from_offset, to_offset), length)
        finally:
            os.close(fd)

    def _truncate(self, path, size):
        os.truncate(self._at(path), size)

    def _punch(self, path, offset, length):
        fd = self._open(path)
        if LIBC.fallocate(fd, PUNCH_HOLE_KEEP_SIZE, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
            raise OSError(ctypes.get_errno(), "fallocate")

    def _rename(self, path, to):
        os.rename(self._at(path), self._at(to))
        self._forget(path, to)

    def _link(self, path, to):
        os.link(self._at(path), self._at(to))

    def _remove(self, path):
        at = self._at(path)
        if os.path.isdir(at) and not os.path.islink(at):
            os.rmdir(at)
        else:
            os.unlink(at)
        self._forget(path)

    def _chmod(self, path, mode):
        os.chmod(self._at(path), mode)

    def _chown(self, path, uid, gid):
        os.chown(self._at(path), uid, gid)

    def _setxattr(self, path, name, value):
        os.setxattr(self._at(path), name, value)

    def _removexattr(self, path, name):
        os.removexattr(self._at(path), name)

    def _fsync(self, path):
        fd = os.open(self._at(path), os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def work(root, generator, events):
    """In a process of its own, until an operation fails. `events` is the writing end of the pipe to the parent."""
    hands = Hands(root, generator.seed)
    number = 0
    while True:
        op = generator.next()
        os.write(events, EVENT.pack(STARTED, number, time.monotonic_ns(), 0))
        try:
            hands.do(op)
        except OSError as error:
            os.write(events, EVENT.pack(FAILED, number, time.monotonic_ns(), error.errno or 0))
            return
        os.write(events, EVENT.pack(RETURNED, number, time.monotonic_ns(), 0))
        number += 1
