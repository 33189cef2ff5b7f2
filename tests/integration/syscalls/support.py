"""What the checks share: a register, system calls that Python lacks, child processes, comparisons."""
import contextlib
import ctypes
import errno
import json
import os
import time
import traceback

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400
RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT = 1, 2, 4
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
UTIME_NOW, UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
MAX_SIZE = (1 << 63) - 1
NOBODY = 65534

checks = []  # in the order of their definition
daemon_pid = None  # of the filesystem under test, where it is known


class Skip(Exception):
    pass


def skip_below(what, libfuse, protocol):
    """Skips the check if the mount has an older libfuse, or an older kernel."""
    known = json.loads(os.getxattr(".", "dedupfs.statistics"))["kernel"]
    for key, needed, thing in ("libfuse_version", libfuse, "libfuse"), ("kernel_protocol", protocol, "a kernel with FUSE"):
        if [int(part) for part in known[key].split(".")] < [int(part) for part in needed.split(".")]:
            raise Skip(f"{what} needs {thing} {needed}, and this is {known[key]}")


def check(function):
    checks.append(function)
    return function


def needs_root(function):
    def guarded():
        if os.geteuid() != 0:
            raise Skip("needs root")
        function()

    guarded.__name__ = function.__name__
    return check(guarded)


def call(name, *arguments):
    """A libc function that returns -1 and sets errno; 64-bit arguments are passed as c_long."""
    result = getattr(libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result


def renameat2(old, new, flags):
    call("renameat2", AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags)


def fallocate(fd, mode, offset, length):
    call("fallocate", fd, mode, ctypes.c_long(offset), ctypes.c_long(length))


def utimensat(path, access, modification, follow=True):
    times = (ctypes.c_long * 4)(*access, *modification)
    call("utimensat", AT_FDCWD, os.fsencode(path), times, 0 if follow else 0x100)


def write_file(path, data=b"data", mode=0o644):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(data)


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


@contextlib.contextmanager
def opened(path, flags, mode=0o644):
    fd = os.open(path, flags, mode)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def fails_with(*numbers):
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise AssertionError(f"expected {[errno.errorcode[n] for n in numbers]}, got {errno.errorcode[error.errno]}") from error
    else:
        raise AssertionError(f"expected {[errno.errorcode[n] for n in numbers]}, but it succeeded")


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"expected {str(expected)[:200]}, got {str(actual)[:200]}")


def in_child(function):
    """Starts the function in a child process; its exit status is 0 when nothing was raised."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        function()
        status = 0
    except BaseException:  # the child must not return into the loop of checks
        traceback.print_exc()
    os._exit(status)


def joined(pid):
    status = os.waitpid(pid, 0)[1]
    if status:
        raise AssertionError(f"the child process ended with status {status}")


def ends_within(pid, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.02)
    return False


def as_nobody(function, groups=()):
    def lowered():
        os.setgroups(groups)
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        function()

    joined(in_child(lowered))


def wait_past_clock_tick():
    time.sleep(0.03)
