"""What an ordinary user can do to make a daemon take memory. Usage: memory_load.py KIND FOLDER SIZE

scattered SIZE: one byte every 5,000 bytes, for SIZE seconds, in turns through a file that grows
clones SIZE:    a file of SIZE GiB, made by doubling it with copy_file_range
xattrs SIZE:    SIZE extended attributes on one file, some of them long
orphans SIZE:   SIZE files, written, unlinked and read while they are open
punches SIZE:   every other block of 4 KiB of a file of SIZE MiB of one byte

Each prints a line with what it did, and fails if the filesystem gives an error or wrong bytes.
"""
import ctypes
import errno
import multiprocessing
import os
import random
import resource
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
KEEP_SIZE, PUNCH_HOLE = 1, 2
MIB = 1 << 20


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def punch(fd, offset, length):
    arguments = ctypes.c_int(fd), KEEP_SIZE | PUNCH_HOLE, ctypes.c_long(offset), ctypes.c_long(length)
    check(LIBC.fallocate(*arguments) == 0, f"fallocate: {os.strerror(ctypes.get_errno())}")


def scattered(folder, seconds):
    distance = 5000
    written = 0
    with open(f"{folder}/scattered", "wb", buffering=0) as file:
        end, turn_end = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            turn_end += 20_000
            for number in range(turn_end):
                os.pwrite(file.fileno(), b"x", number * distance)
                written += 1
            if time.monotonic() >= end:
                break
        os.fsync(file.fileno())
        check(os.stat(file.fileno()).st_size == (turn_end - 1) * distance + 1, "size")
    with open(f"{folder}/scattered", "rb") as file:
        for number in random.sample(range(turn_end), 100):
            check(os.pread(file.fileno(), 3, number * distance)[:1] == b"x", f"byte {number}")
    return f"{written} bytes written"


def clones(folder, gib):
    start = random.Random(1).randbytes(32 * MIB)
    size = len(start)
    fd = os.open(f"{folder}/clones", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, start)
    while size < gib << 30:
        done = 0
        while done < size:
            done += os.copy_file_range(fd, fd, size - done, done, size + done)
        size += done
    os.fsync(fd)
    check(os.fstat(fd).st_size == size, "size")
    for offset in [random.randrange(size - 100) for _ in range(100)]:
        at = offset % len(start)
        check(os.pread(fd, 100, offset) == (start + start[:100])[at : at + 100], f"offset {offset}")
    os.close(fd)
    return f"{size >> 30} GiB"


def xattrs(folder, count):
    path = f"{folder}/xattrs"
    open(path, "w").close()
    for number in range(count):
        os.setxattr(path, f"user.number.{number}", b"v" * (60_000 if number % 100 == 0 else 20))
    try:
        check(len(os.listxattr(path)) == count, "names")
    except OSError as error:  # the kernel hands out 64 KiB of names
        check(error.errno in (errno.E2BIG, errno.ERANGE) and count > 2000, os.strerror(error.errno))
    for number in range(0, count, max(1, count // 100)):
        check(len(os.getxattr(path, f"user.number.{number}")) in (20, 60_000), f"attribute {number}")
    os.unlink(path)
    return f"{count} attributes"


def hold_orphans(folder, numbers, all_are_open):
    files = []
    for number in numbers:
        path = f"{folder}/orphan{number}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.write(fd, b"%08d" % number * 500)
        os.unlink(path)
        files.append(fd)
    os.fsync(files[-1])
    all_are_open.wait(300)
    for number, fd in zip(numbers, files):
        check(os.pread(fd, 8, 8) == b"%08d" % number, f"file {number}")
        os.close(fd)


def orphans(folder, count):
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    share = min(count, hard_limit - 100)  # of a process
    shares = [range(begin, min(begin + share, count)) for begin in range(0, count, share)]
    all_are_open = multiprocessing.Barrier(len(shares))
    holders = [multiprocessing.Process(target=hold_orphans, args=(folder, numbers, all_are_open)) for numbers in shares]
    for holder in holders:
        holder.start()
    for holder in holders:
        holder.join()
        check(holder.exitcode == 0, "files that are open without a name")
    return f"{count} files"


def punches(folder, mib):
    fd = os.open(f"{folder}/punches", os.O_RDWR | os.O_CREAT, 0o644)
    for _ in range(mib):
        os.write(fd, b"p" * MIB)
    os.fsync(fd)
    begin = time.monotonic()
    for offset in range(0, mib * MIB, 8192):
        punch(fd, offset, 4096)
    os.fsync(fd)
    taken = time.monotonic() - begin
    check(os.fstat(fd).st_blocks * 512 == mib * MIB // 2, "blocks")
    for offset in [random.randrange(mib * MIB // 8192) * 8192 for _ in range(100)]:
        check(os.pread(fd, 8192, offset) == bytes(4096) + b"p" * 4096, f"offset {offset}")
    os.close(fd)
    return f"{mib} MiB in {taken:.1f} s"


KINDS = {function.__name__: function for function in (scattered, clones, xattrs, orphans, punches)}
if __name__ == "__main__":
    print(KINDS[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
