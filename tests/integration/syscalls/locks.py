"""Locks between processes."""
import errno
import fcntl
import os
import signal
import struct
import time

from .support import check, ends_within, equal, fails_with, in_child, joined, opened, read_file, write_file


@check
def whole_file_locks_exclude_other_processes():
    write_file("f")

    def refused():
        with opened("f", os.O_RDWR) as fd, fails_with(errno.EAGAIN):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def shared():
        with opened("f", os.O_RDWR) as fd:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)

    with opened("f", os.O_RDWR) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        joined(in_child(refused))
        fcntl.flock(fd, fcntl.LOCK_SH)
        joined(in_child(shared))
        fcntl.flock(fd, fcntl.LOCK_EX)
        joined(in_child(refused))
    joined(in_child(shared))


@check
def record_locks_exclude_other_processes():
    write_file("f", bytes(100))

    def conflicts():
        with opened("f", os.O_RDWR) as fd:
            with fails_with(errno.EAGAIN, errno.EACCES):
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 15)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 30)
            query = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
            kind, _, start, length, pid = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, query))
            equal((kind, start, length, pid), (fcntl.F_WRLCK, 10, 10, os.getppid()))

    with opened("f", os.O_RDWR) as fd:
        fcntl.lockf(fd, fcntl.LOCK_EX, 10, 10)
        joined(in_child(conflicts))
        with opened("f", os.O_RDONLY):
            pass  # closing any descriptor of the file drops the locks of the process

        def free():
            with opened("f", os.O_RDWR) as other:
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

        joined(in_child(free))


@check
def waiting_for_a_lock_ends_with_unlock_or_signal():
    write_file("f")

    def wait_for(lock):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        with opened("f", os.O_RDWR) as fd:
            lock(fd, fcntl.LOCK_EX)

    for lock in (fcntl.flock, fcntl.lockf):
        with opened("f", os.O_RDWR) as fd:
            lock(fd, fcntl.LOCK_EX)
            # More waiters than a daemon has threads: nobody else may notice.
            waiters = [in_child(lambda: wait_for(lock)) for _ in range(40)]
            time.sleep(0.2)
            start = time.monotonic()
            write_file("other", b"meanwhile")
            equal(read_file("other"), b"meanwhile")
            assert time.monotonic() - start < 2, "other files are blocked"
            os.kill(waiters[0], signal.SIGKILL)
            assert ends_within(waiters.pop(0), 3), "a waiting process cannot be killed"
            equal(os.waitpid(waiters[0], os.WNOHANG)[0], 0)
            lock(fd, fcntl.LOCK_UN)  # closing is not enough, the children have the descriptor too
        for pid in waiters:
            joined(pid)
