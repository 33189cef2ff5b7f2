"""Writers whose timers go off all the time. Their handlers restart system calls, as on a local disk none of which is interrupted.

Usage: signalled_writers.py FOLDER WRITERS MEBIBYTES   (each writes so much to a file of its own and checks it)
Exits with 1 and says which call failed.
"""
import ctypes
import hashlib
import os
import random
import signal
import sys

LIBC = ctypes.CDLL(None, use_errno=True)  # Python itself would hide EINTR


def write_one(path, seed, mebibytes):
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)  # SA_RESTART
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    draw, digest = random.Random(seed), hashlib.sha256()
    for number in range(mebibytes):
        block = draw.randbytes(1 << 20)
        digest.update(block)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        written = LIBC.write(descriptor, block, len(block))
        error = ctypes.get_errno()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if written != len(block):
            sys.exit(f"write {number} of {path}: {os.strerror(error) if written < 0 else f'{written} bytes'}")
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "rb") as file:
        if hashlib.sha256(file.read()).digest() != digest.digest():
            sys.exit(f"{path} has other content")


def main():
    folder, writers, mebibytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    children = []
    for number in range(writers):
        child = os.fork()
        if child == 0:
            write_one(os.path.join(folder, f"signalled-{number}"), number, mebibytes)
            os._exit(0)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
