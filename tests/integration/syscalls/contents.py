"""What is written is what is read, by every way of writing and reading."""
import errno
import mmap
import os
import random
import shutil
import subprocess
import time

from .support import (
    KEEP_SIZE, MAX_SIZE, PUNCH_HOLE, ZERO_RANGE, check, equal, fails_with, fallocate, in_child,
    joined, opened, read_file, write_file
)


@check
def writes_land_where_they_belong():
    model, source = bytearray(), random.Random(7)
    with opened("f", os.O_RDWR | os.O_CREAT) as fd:
        for _ in range(400):
            offset, length = source.randrange(600_000), source.choice((1, 100, 5000, 70_000))
            if source.random() < 0.1:
                size = source.randrange(600_000)
                os.ftruncate(fd, size)
                del model[size:]
                model.extend(bytes(size - len(model)))
                continue
            data = source.randbytes(length)
            os.pwrite(fd, data, offset)
            model.extend(bytes(max(0, offset - len(model))))
            model[offset : offset + length] = data
            equal(os.fstat(fd).st_size, len(model))
    assert read_file("f") == model, "contents differ"


@check
def truncate_leaves_no_stale_bytes():
    write_file("f", b"x" * 300_000)
    os.truncate("f", 100)
    os.truncate("f", 200_000)
    equal(read_file("f"), b"x" * 100 + bytes(199_900))
    with opened("f", os.O_WRONLY | os.O_TRUNC):
        equal(os.stat("f").st_size, 0)
    with fails_with(errno.EINVAL):
        os.truncate("f", -1)


@check
def appends_of_many_processes_do_not_overlap():
    def append(who):
        with opened("f", os.O_WRONLY | os.O_APPEND) as fd:
            for i in range(300):
                os.write(fd, b"%d %5d %s\n" % (who, i, b"." * (who * 40)))

    write_file("f", b"")
    for pid in [in_child(lambda who=who: append(who)) for who in range(4)]:
        joined(pid)
    lines = read_file("f").splitlines()
    equal(len(lines), 1200)
    for who in range(4):
        equal([line for line in lines if line.startswith(b"%d " % who)],
              [b"%d %5d %s" % (who, i, b"." * (who * 40)) for i in range(300)])


@check
def append_ignores_the_offset():
    write_file("f", b"1234")
    with opened("f", os.O_RDWR | os.O_APPEND) as fd:
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b"56")
        equal(os.pread(fd, 10, 0), b"123456")


@check
def direct_io_and_page_cache_agree():
    block = mmap.mmap(-1, 1 << 16)
    block.write(random.Random(1).randbytes(1 << 16))
    with opened("f", os.O_RDWR | os.O_CREAT | os.O_DIRECT) as direct, opened("f", os.O_RDWR) as cached:
        equal(os.pwritev(direct, [block], 0), 1 << 16)
        equal(os.pread(cached, 1 << 16, 0), block[:])
        os.pwrite(cached, b"changed", 4096)
        os.preadv(direct, [block], 0)
        equal(block[4096:4103], b"changed")
        equal(os.preadv(direct, [block], 1 << 16), 0)


@check
def reads_are_never_stale():
    """A file that is open write-only may bypass the page cache: what another descriptor has cached must follow."""
    write_file("f", b"a" * 100_000)
    with opened("f", os.O_RDONLY) as reader, opened("f", os.O_WRONLY) as writer:
        mapping = mmap.mmap(reader, 100_000, mmap.MAP_PRIVATE, mmap.PROT_READ)
        for i in range(50):
            equal(os.pread(reader, 100_000 + i, 0)[:10], mapping[:10])
            data = b"%010d" % i
            os.pwrite(writer, data, 0)
            os.pwrite(writer, data, 50_000)
            equal((os.pread(reader, 10, 0), os.pread(reader, 10, 50_000)), (data, data))
            os.pwrite(writer, b"+", 100_000 + i)
            equal(os.stat("f").st_size, 100_001 + i)
            equal(os.pread(reader, 2, 100_000 + i), b"+")
        mapping.close()


@check
def shared_mapping_writes_reach_the_file():
    write_file("f", bytes(200_000))
    with opened("f", os.O_RDWR) as fd:
        mapping = mmap.mmap(fd, 200_000)
        mapping[100_000:100_005] = b"first"
        equal(os.pread(fd, 5, 100_000), b"first")
        os.pwrite(fd, b"second", 5000)
        equal(mapping[5000:5006], b"second")
        mapping.flush()
        mapping[199_990:] = b"last bytes"
        mapping.close()
    equal(read_file("f")[199_990:], b"last bytes")
    equal(os.stat("f").st_size, 200_000)


@check
def shared_mappings_of_two_processes_are_one():
    write_file("f", bytes(8192))
    with opened("f", os.O_RDWR) as fd:
        mapping = mmap.mmap(fd, 8192)

        def answer():
            other = mmap.mmap(fd, 8192)
            while other[0] != 1:
                time.sleep(0.001)
            other[4096] = 2

        pid = in_child(answer)
        mapping[0] = 1
        joined(pid)
        equal(mapping[4096], 2)


@check
def fallocate_extends_or_keeps_the_size():
    write_file("f", b"1234")
    with opened("f", os.O_RDWR) as fd:
        fallocate(fd, KEEP_SIZE, 0, 100_000)
        equal(os.fstat(fd).st_size, 4)
        fallocate(fd, 0, 0, 100_000)
        equal((os.fstat(fd).st_size, os.pread(fd, 6, 0)), (100_000, b"1234\0\0"))
        fallocate(fd, 0, 0, 10)
        equal(os.fstat(fd).st_size, 100_000)
        with fails_with(errno.EINVAL):
            fallocate(fd, 0, 0, 0)
    with opened("f", os.O_RDONLY) as fd, fails_with(errno.EBADF):
        fallocate(fd, 0, 0, 1)


@check
def fallocate_punches_and_zeroes():
    content = bytearray(random.Random(2).randbytes(300_000))
    write_file("f", content)
    with opened("f", os.O_RDWR) as fd:
        for mode, offset, length in ((PUNCH_HOLE | KEEP_SIZE, 1000, 99_000), (ZERO_RANGE, 150_001, 50_000),
                                     (PUNCH_HOLE | KEEP_SIZE, 250_000, 500_000), (ZERO_RANGE | KEEP_SIZE, 299_000, 5000)):
            fallocate(fd, mode, offset, length)
            end = min(offset + length, len(content))
            content[offset:end] = bytes(end - offset)
            assert os.pread(fd, 400_000, 0) == content, f"after mode {mode}"
        fallocate(fd, ZERO_RANGE, 290_000, 30_000)
        equal(os.fstat(fd).st_size, 320_000)
        with fails_with(errno.EOPNOTSUPP):
            fallocate(fd, PUNCH_HOLE, 0, 4096)


@check
def holes_and_data_are_found():
    mib = 1 << 20
    with opened("f", os.O_RDWR | os.O_CREAT) as fd:
        os.pwrite(fd, random.Random(3).randbytes(mib), 4 * mib)
        os.ftruncate(fd, 16 * mib)
        os.fsync(fd)
        assert 3 * mib < os.lseek(fd, 0, os.SEEK_DATA) <= 4 * mib
        equal(os.lseek(fd, 4 * mib + 5, os.SEEK_DATA), 4 * mib + 5)
        assert 5 * mib <= os.lseek(fd, 4 * mib, os.SEEK_HOLE) < 6 * mib
        equal(os.lseek(fd, 0, os.SEEK_HOLE), 0)
        with fails_with(errno.ENXIO):
            os.lseek(fd, 8 * mib, os.SEEK_DATA)
        with fails_with(errno.ENXIO):
            os.lseek(fd, 16 * mib, os.SEEK_HOLE)
        fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 4 * mib, mib)
        with fails_with(errno.ENXIO):
            os.lseek(fd, 0, os.SEEK_DATA)
    assert os.stat("f").st_blocks * 512 < mib


@check
def seek_sees_data_not_flushed_yet():
    with opened("f", os.O_RDWR | os.O_CREAT) as fd:
        os.ftruncate(fd, 10 << 20)
        os.pwrite(fd, b"x" * 100, 5 << 20)
        found = os.lseek(fd, 0, os.SEEK_DATA)
        assert (4 << 20) < found <= (5 << 20), found


@check
def data_and_holes_begin_and_end_with_blocks():
    """As programs with O_DIRECT need them (qemu-img). Zeros that nobody made a hole on purpose become one, too."""
    content = random.Random(5).randbytes(100_001) + bytes(200_000) + b"x" + bytes(100_000) + b"end"
    write_file("f", content)
    with opened("f", os.O_RDONLY) as fd:
        os.fsync(fd)
        at = 0
        while at < len(content):
            hole = os.lseek(fd, at, os.SEEK_HOLE)
            assert hole % 4096 == 0 or hole == len(content), hole
            if hole == len(content):
                break
            at = os.lseek(fd, hole, os.SEEK_DATA)
            equal((at % 4096, content[hole:at]), (0, bytes(at - hole)))


@check
def sparse_file_of_the_largest_size():
    with opened("f", os.O_RDWR | os.O_CREAT) as fd:
        os.pwrite(fd, b"end", MAX_SIZE - 3)
        os.pwrite(fd, b"middle", 1 << 50)
        equal(os.fstat(fd).st_size, MAX_SIZE)
        equal(os.pread(fd, 5, MAX_SIZE - 5), b"\0\0end")
        equal(os.pread(fd, 6, 1 << 50), b"middle")
        with fails_with(errno.EFBIG, errno.EINVAL):
            os.pwrite(fd, b"beyond", MAX_SIZE)
        os.fsync(fd)
        os.ftruncate(fd, 10)
        os.ftruncate(fd, MAX_SIZE)
        equal(os.pread(fd, 5, MAX_SIZE - 5), bytes(5))
    assert os.stat("f").st_blocks < 2048


@check
def copy_file_range_clones():
    content = random.Random(4).randbytes(3_000_000)
    write_file("a", content)
    with opened("a", os.O_RDWR) as source, opened("b", os.O_RDWR | os.O_CREAT) as target:
        copied = 0
        while part := os.copy_file_range(source, target, len(content), copied, copied):
            copied += part
        equal(copied, len(content))
        assert read_file("b") == content
        equal(os.copy_file_range(source, target, 50_000, 12_345, 777_777), 50_000)
        expected = content[:777_777] + content[12_345:62_345] + content[827_777:]
        assert read_file("b") == expected
        equal(os.copy_file_range(source, source, 1000, 0, 2_000_000), 1000)
        equal(os.pread(source, 1000, 2_000_000), content[:1000])
        equal(os.copy_file_range(source, target, 10, 5_000_000, 0), 0)
        with fails_with(errno.EINVAL):
            os.copy_file_range(source, source, 1000, 0, 500)
        os.pwrite(target, b"own", 0)  # a clone is a copy, not a link
        equal(os.pread(source, 3, 0), content[:3])


@check
def programs_run_from_here():
    shutil.copy("/bin/true", "true")
    os.chmod("true", 0o755)
    equal(subprocess.run(["./true"], check=False).returncode, 0)
    write_file("script", b"#!/bin/sh\nexit 7\n", 0o755)
    equal(subprocess.run(["./script"], check=False).returncode, 7)
