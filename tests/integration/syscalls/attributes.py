"""Times, extended attributes, kinds of files, handles."""
import ctypes
import errno
import os
import random
import socket
import stat
import struct
import time

from .support import (
    AT_FDCWD, UTIME_NOW, UTIME_OMIT, as_nobody, call, check, equal, fails_with, in_child, joined, needs_root,
    opened, read_file, utimensat, wait_past_clock_tick, write_file
)


@check
def times_have_nanoseconds_and_omit_and_now():
    write_file("f")
    utimensat("f", (1_000_000_000, 123_456_789), (1, 999_999_999))
    st = os.stat("f")
    equal((st.st_atime_ns, st.st_mtime_ns), (1_000_000_000_123_456_789, 1_999_999_999))
    utimensat("f", (0, UTIME_OMIT), (2, 3))
    equal((os.stat("f").st_atime_ns, os.stat("f").st_mtime_ns), (st.st_atime_ns, 2_000_000_003))
    before = time.time() - 1
    utimensat("f", (0, UTIME_NOW), (0, UTIME_OMIT))
    assert before < os.stat("f").st_atime < before + 60
    equal(os.stat("f").st_mtime_ns, 2_000_000_003)
    utimensat("f", (-5, 0), (5_000_000_000, 7))  # before 1970, after 2038
    equal((os.stat("f").st_atime_ns, os.stat("f").st_mtime_ns), (-5_000_000_000, 5_000_000_000_000_000_007))
    os.symlink("f", "l")
    utimensat("l", (11, 0), (12, 0), follow=False)
    equal((os.lstat("l").st_mtime, os.stat("f").st_mtime_ns), (12, 5_000_000_000_000_000_007))


@check
def changes_move_the_times():
    write_file("f")
    os.mkdir("d")
    for change, moved in ((lambda: os.chmod("f", 0o600), "c"), (lambda: os.truncate("f", 2), "cm"),
                          (lambda: write_file("f", b"again"), "cm"), (lambda: os.setxattr("f", "user.a", b"1"), "c"),
                          (lambda: os.link("f", "d/f"), "cd"), (lambda: os.unlink("d/f"), "cd")):
        before, folder = os.stat("f"), os.stat("d")
        wait_past_clock_tick()
        change()
        after, folder_after = os.stat("f"), os.stat("d")
        equal(after.st_ctime_ns > before.st_ctime_ns, "c" in moved)
        equal(after.st_mtime_ns > before.st_mtime_ns, "m" in moved)
        equal(folder_after.st_mtime_ns > folder.st_mtime_ns, "d" in moved)


@check
def reading_with_o_noatime_leaves_the_access_time():
    write_file("f", b"text")
    os.mkdir("d")
    write_file("d/f")
    for path, read in (("f", lambda fd: os.read(fd, 10)), ("d", os.listdir)):
        before = os.stat(path).st_atime_ns
        wait_past_clock_tick()
        with opened(path, os.O_RDONLY | os.O_NOATIME) as fd:
            read(fd)
        equal((path, os.stat(path).st_atime_ns), (path, before))
    with opened("d", os.O_RDONLY) as fd:
        os.listdir(fd)
    assert os.stat("d").st_atime_ns > before


@check
def reading_from_the_page_cache_moves_an_old_access_time():
    with opened("f", os.O_RDWR | os.O_CREAT) as fd:
        os.write(fd, b"m" * 8192)
    for past, changed in ((3 * 86400, 5 * 86400), (60, 30)):  # older than a day; older than the content
        os.utime("f", (time.time() - past, time.time() - changed))
        before = os.stat("f").st_atime
        with opened("f", os.O_RDONLY | os.O_NOATIME) as fd:
            os.read(fd, 10)
        equal(os.stat("f").st_atime, before)
        read_file("f")
        assert os.stat("f").st_atime > time.time() - 30, past
    os.utime("f", (time.time() - 60, time.time() - 90))
    os.setxattr("f", "user.a", b"1")
    read_file("f")
    before = os.stat("f").st_atime_ns
    read_file("f")
    equal(os.stat("f").st_atime_ns, before)


@check
def extended_attributes_keep_values():
    write_file("f")
    values = {"user.empty": b"", "user.binary": bytes(range(256)), "user." + "n" * 250: b"x" * 4000}
    for name, value in values.items():
        os.setxattr("f", name, value)
    equal({name: os.getxattr("f", name) for name in os.listxattr("f") if name.startswith("user.")}, values)
    with fails_with(errno.EEXIST):
        os.setxattr("f", "user.empty", b"1", os.XATTR_CREATE)
    with fails_with(errno.ENODATA):
        os.setxattr("f", "user.none", b"1", os.XATTR_REPLACE)
    os.removexattr("f", "user.empty")
    with fails_with(errno.ENODATA):
        os.getxattr("f", "user.empty")
    with fails_with(errno.ENODATA):
        os.removexattr("f", "user.empty")
    os.mkdir("d")
    os.setxattr("d", "user.d", b"folder")
    equal(os.getxattr("d", "user.d"), b"folder")
    os.symlink("f", "l")
    with fails_with(errno.EPERM):
        os.setxattr("l", "user.a", b"1", follow_symlinks=False)
    small = ctypes.create_string_buffer(10)
    with fails_with(errno.ERANGE):
        call("getxattr", b"f", b"user.binary", small, ctypes.c_size_t(10))


@needs_root
def trusted_and_security_attributes():
    write_file("f")
    os.setxattr("f", "trusted.t", b"1")
    equal(os.getxattr("f", "trusted.t"), b"1")
    as_nobody(lambda: equal("trusted.t" in os.listxattr("f"), False))
    capability = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
    os.setxattr("f", "security.capability", capability)
    equal(os.getxattr("f", "security.capability"), capability)
    with open("f", "ab") as file:
        file.write(b"changed")
    with fails_with(errno.ENODATA):  # a program that was changed loses its privileges
        os.getxattr("f", "security.capability")


@check
def file_system_tells_the_truth_about_itself():
    space = os.statvfs(".")
    assert 0 < space.f_bavail <= space.f_bfree <= space.f_blocks
    equal(space.f_namemax, 255)
    assert space.f_files == 0 or space.f_ffree > 0
    with opened("f", os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, random.Random(5).randbytes(8 << 20))
        os.fsync(fd)
    after = os.statvfs(".")
    assert after.f_bfree * after.f_frsize < space.f_bfree * space.f_frsize + (64 << 20)
    assert os.stat("f").st_blocks > 0


@check
def inode_numbers_stay():
    write_file("f")
    os.mkdir("d")
    number = os.stat("f").st_ino
    os.rename("f", "d/g")
    with os.scandir("d") as entries:
        equal([(entry.name, entry.inode()) for entry in entries], [("g", number)])
    equal(os.stat("d/g").st_ino, number)
    equal(os.stat("d/..").st_ino, os.stat(".").st_ino)


@needs_root
def special_files_keep_kind_and_device():
    for name, kind, device in (("fifo", stat.S_IFIFO, 0), ("socket", stat.S_IFSOCK, 0), ("null", stat.S_IFCHR, os.makedev(1, 3)),
                               ("block", stat.S_IFBLK, os.makedev(259, 1048575))):
        os.mknod(name, kind | 0o640, device)
        st = os.lstat(name)
        equal((stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), st.st_rdev), (kind, 0o640, device))
    pid = in_child(lambda: write_file("fifo", b"through the pipe"))
    equal(read_file("fifo"), b"through the pipe")
    joined(pid)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("listening")
        assert stat.S_ISSOCK(os.stat("listening").st_mode)


@needs_root
def files_are_found_by_handle():
    write_file("f", b"by handle")
    handle = ctypes.create_string_buffer(136)
    struct.pack_into("I", handle, 0, 128)
    mount_id = ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, b"f", handle, ctypes.byref(mount_id), 0)
    with opened(".", os.O_RDONLY | os.O_DIRECTORY) as mount:
        os.mkdir("d")
        os.rename("f", "d/g")
        fd = call("open_by_handle_at", mount, handle, os.O_RDONLY)
        equal(os.read(fd, 100), b"by handle")
        os.close(fd)
        os.unlink("d/g")
        # The kernel holds on to the file until the daemon has heard of its last close, which close(2) does not wait for.
        with fails_with(errno.ESTALE):
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                os.close(call("open_by_handle_at", mount, handle, os.O_RDONLY))
                time.sleep(0.02)
