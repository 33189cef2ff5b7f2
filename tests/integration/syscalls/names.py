"""Names, links and folders."""
import contextlib
import ctypes
import errno
import os
import random
import stat
import time

from . import support
from .support import (
    AT_FDCWD, AT_SYMLINK_FOLLOW, RENAME_EXCHANGE, RENAME_NOREPLACE, RENAME_WHITEOUT, Skip, call, check, equal, fails_with, libc, opened,
    read_file, renameat2, skip_below, wait_past_clock_tick, write_file
)


@check
def rename_replaces_file_and_keeps_open_ones():
    write_file("a", b"new")
    write_file("b", b"old")
    with opened("b", os.O_RDONLY) as old:
        os.rename("a", "b")
        equal(os.read(old, 10), b"old")
        equal(os.fstat(old).st_nlink, 0)
    equal(read_file("b"), b"new")
    equal(os.listdir(), ["b"])


@check
def rename_noreplace_refuses_existing_name():
    write_file("a", b"1")
    write_file("b", b"2")
    with fails_with(errno.EEXIST):
        renameat2("a", "b", RENAME_NOREPLACE)
    renameat2("a", "c", RENAME_NOREPLACE)
    equal(sorted(os.listdir()), ["b", "c"])


@check
def rename_exchange_swaps_file_and_folder():
    write_file("file")
    os.makedirs("one/folder/inner")
    renameat2("file", "one/folder", RENAME_EXCHANGE)
    equal(os.listdir("file"), ["inner"])
    equal(read_file("one/folder"), b"data")
    equal((os.stat(".").st_nlink, os.stat("one").st_nlink), (4, 2))
    with fails_with(errno.ENOENT):
        renameat2("file", "missing", RENAME_EXCHANGE)
    with fails_with(errno.EINVAL):
        renameat2("file", "one", RENAME_EXCHANGE | RENAME_NOREPLACE)


@check
def rename_can_leave_a_whiteout():
    def is_whiteout(path):
        found = os.lstat(path)
        return (stat.S_IFMT(found.st_mode), found.st_rdev) == (stat.S_IFCHR, 0)

    write_file("a", b"1")
    write_file("b", b"2")
    os.mkdir("d")
    renameat2("a", "d/a", RENAME_WHITEOUT)
    assert is_whiteout("a")
    equal(read_file("d/a"), b"1")
    with fails_with(errno.EEXIST):
        renameat2("d/a", "b", RENAME_WHITEOUT | RENAME_NOREPLACE)
    renameat2("d/a", "b", RENAME_WHITEOUT)
    assert is_whiteout("d/a")
    equal(read_file("b"), b"1")
    with fails_with(errno.EINVAL):
        renameat2("b", "a", RENAME_WHITEOUT | RENAME_EXCHANGE)
    renameat2("d", "e", RENAME_WHITEOUT | RENAME_NOREPLACE)
    assert is_whiteout("d") and is_whiteout("e/a")
    equal(sorted(os.listdir()), ["a", "b", "d", "e"])


def open_unnamed(flags=0):
    try:
        return os.open(".", os.O_TMPFILE | os.O_RDWR | flags, 0o640)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            skip_below("O_TMPFILE", libfuse="3.17", protocol="7.37")
        raise


def give_name(fd, name):
    """os.link() makes one for a link in /proc, not for what it leads to."""
    call("linkat", AT_FDCWD, f"/proc/self/fd/{fd}".encode(), AT_FDCWD, name.encode(), AT_SYMLINK_FOLLOW)


# How many are free depends on the room on the disk, which others use too.
def inodes_in_use():
    space = os.statvfs(".")
    return space.f_files - space.f_ffree


@check
def files_without_a_name_live_while_open():
    used_before = inodes_in_use()
    fd = open_unnamed()
    os.write(fd, b"content")
    os.fsync(fd)
    st = os.fstat(fd)
    equal((st.st_nlink, st.st_size, stat.S_IMODE(st.st_mode)), (0, 7, 0o640))
    equal(os.listdir(), [])
    with opened(f"/proc/self/fd/{fd}", os.O_RDONLY) as again:
        equal(os.read(again, 10), b"content")
    os.close(fd)
    equal(os.listdir(), [])
    deadline = time.monotonic() + 30
    while inodes_in_use() > used_before:  # close() does not wait for the filesystem
        assert time.monotonic() < deadline, "the inode is still there"
        time.sleep(0.01)


@check
def files_without_a_name_may_get_one():
    fd = open_unnamed()
    os.write(fd, b"content")
    os.mkdir("d")
    give_name(fd, "d/named")
    equal((os.fstat(fd).st_nlink, os.stat("d/named").st_ino), (1, os.fstat(fd).st_ino))
    with fails_with(errno.EEXIST):
        give_name(fd, "d/named")
    os.write(fd, b" and more")
    give_name(fd, "second")
    os.close(fd)
    equal((read_file("second"), os.stat("second").st_nlink), (b"content and more", 2))
    os.unlink("second")
    equal(read_file("d/named"), b"content and more")


@check
def files_without_a_name_may_be_told_to_stay_so():
    fd = open_unnamed(os.O_EXCL)
    with fails_with(errno.ENOENT):
        give_name(fd, "named")
    os.close(fd)
    fd = open_unnamed()
    give_name(fd, "named")
    os.unlink("named")
    with fails_with(errno.ENOENT):  # as a file on a local disk that has lost its last name
        give_name(fd, "again")
    os.close(fd)
    equal(os.listdir(), [])


@check
def rename_of_folders_keeps_the_rules():
    os.makedirs("a/b")
    os.makedirs("full/x")
    os.mkdir("empty")
    with fails_with(errno.EINVAL):
        os.rename("a", "a/b/c")
    with fails_with(errno.ENOTEMPTY, errno.EEXIST):
        os.rename("a", "full")
    with fails_with(errno.ENOTDIR):
        write_file("file")
        os.rename("a", "file")
    with fails_with(errno.EISDIR):
        os.rename("file", "a")
    os.rename("a", "empty")
    os.rename("empty/b", "full/b")
    equal((os.stat("empty").st_nlink, os.stat("full").st_nlink), (2, 4))


@check
def rename_onto_hard_link_of_itself_does_nothing():
    write_file("a")
    os.link("a", "b")
    os.rename("a", "b")
    equal(sorted(os.listdir()), ["a", "b"])


@check
def unlinked_file_lives_while_open():
    with opened("f", os.O_RDWR | os.O_CREAT) as fd:
        os.write(fd, b"before")
        os.unlink("f")
        os.write(fd, b" and after")
        os.fsync(fd)
        equal(os.pread(fd, 100, 0), b"before and after")
        os.ftruncate(fd, 3)
        os.fchmod(fd, 0o600)
        st = os.fstat(fd)
        equal((st.st_nlink, st.st_size, stat.S_IMODE(st.st_mode)), (0, 3, 0o600))
        with opened(f"/proc/self/fd/{fd}", os.O_RDONLY) as again:
            equal(os.read(again, 10), b"bef")


@check
def hard_links_share_everything():
    write_file("a")
    before = os.stat("a").st_ctime_ns
    wait_past_clock_tick()
    os.link("a", "b")
    assert os.stat("a").st_ctime_ns > before
    os.chmod("b", 0o640)
    with open("b", "ab") as file:
        file.write(b"+")
    a, b = os.stat("a"), os.stat("b")
    equal((a.st_ino, a.st_nlink, a.st_mode, a.st_size), (b.st_ino, 2, b.st_mode, 5))
    os.unlink("a")
    equal((os.stat("b").st_nlink, read_file("b")), (1, b"data+"))
    os.mkdir("d")
    with fails_with(errno.EPERM):
        os.link("d", "e")


@check
def symbolic_links_keep_any_target():
    for target in ("x", "y" * 4095, "../ß/\n"):
        os.symlink(target, "l")
        equal((os.readlink("l"), os.lstat("l").st_size), (target, len(os.fsencode(target))))
        os.unlink("l")
    os.symlink("loop", "loop")
    with fails_with(errno.ELOOP):
        os.stat("loop")
    os.symlink("elsewhere", "l")
    with fails_with(errno.ELOOP):
        os.open("l", os.O_RDONLY | os.O_NOFOLLOW)


@check
def names_of_255_bytes_of_any_kind():
    any_byte = bytes(b for b in range(1, 256) if b != ord("/"))  # 254 of them
    names = [any_byte + b"x", b"\xff" * 255, b"\n", b" ", b"-", "ü".encode(), b"...", b"a" * 255]
    folder = os.fsencode(os.getcwd())
    for name in names:
        write_file(os.path.join(folder, name), name)
    equal(sorted(os.listdir(folder)), sorted(names))
    for name in names:
        equal(read_file(os.path.join(folder, name)), name)
    with fails_with(errno.ENAMETOOLONG):
        write_file(b"a" * 256)
    with fails_with(errno.ENAMETOOLONG):
        os.rename(b"-", b"a" * 256)


@check
def paths_deeper_than_path_max():
    start, name = os.getcwd(), "d" * 200
    for _ in range(40):
        os.mkdir(name)
        os.chdir(name)
    write_file("deep", b"down here")
    equal(read_file("deep"), b"down here")
    os.unlink("deep")
    for _ in range(40):
        os.chdir("..")
        os.rmdir(name)
    equal(os.getcwd(), start)


@check
def folders_count_their_links():
    os.mkdir("d")
    equal(os.stat("d").st_nlink, 2)
    os.mkdir("d/e")
    equal(os.stat("d").st_nlink, 3)
    with fails_with(errno.ENOTEMPTY, errno.EEXIST):
        os.rmdir("d")
    os.rmdir("d/e")
    equal(os.stat("d").st_nlink, 2)
    with fails_with(errno.EISDIR):
        os.unlink("d")
    with fails_with(errno.EINVAL):
        os.rmdir("d/.")


@check
def readdir_is_stable_under_change():
    """A name that is there all the time is listed exactly once, whatever happens around it."""
    os.mkdir("d")
    kept = [f"kept-{i}-{'x' * 100}" for i in range(1500)]
    doomed = [f"doomed-{i}-{'x' * 100}" for i in range(1500)]
    for one, other in zip(kept, doomed):
        write_file(f"d/{one}", b"")
        write_file(f"d/{other}", b"")
    seen = []
    with os.scandir("d") as entries:
        for position, entry in enumerate(entries):
            seen.append(entry.name)
            if position % 2 == 0 and doomed:
                os.unlink(f"d/{doomed.pop()}")
                write_file(f"d/fresh-{position}", b"")
    equal(sorted(name for name in seen if name.startswith("kept")), sorted(kept))
    equal(len(seen), len(set(seen)))


def ends_while(change):
    """A listing whose entries are changed one by one comes to its end."""
    os.mkdir("d")
    for i in range(2000):
        write_file(f"d/{i}", b"")
    seen = 0
    with os.scandir("d") as entries:
        for entry in entries:
            seen += 1
            assert seen < 5000, "the listing does not end"
            change(f"d/{entry.name}")
    return seen


@check
def readdir_ends_while_its_entries_are_renamed():
    def rename_to_and_fro(path):
        os.rename(path, "d/temporary")
        os.rename("d/temporary", path)

    equal(ends_while(rename_to_and_fro), 2000)


@check
def readdir_ends_while_an_entry_is_added_for_each():
    equal(ends_while(lambda path: write_file(path + "-copy", b"")), 2000)


@check
def readdir_can_be_rewound_and_resumed():
    libc.opendir.restype = libc.readdir64.restype = ctypes.c_void_p
    libc.telldir.restype = ctypes.c_long
    names = {f"f{i}" for i in range(700)} | {".", ".."}
    for name in names - {".", ".."}:
        write_file(name, b"")
    stream = ctypes.c_void_p(libc.opendir(b"."))

    def following():
        entry = libc.readdir64(stream)
        return entry and ctypes.string_at(entry + 19)

    marks = []
    while True:
        place = libc.telldir(stream)
        name = following()
        if not name:
            break
        marks.append((place, name))
    equal({name.decode() for _, name in marks}, names)
    for place, name in random.Random(1).sample(marks, 50):
        libc.seekdir(stream, ctypes.c_long(place))
        equal(following(), name)
    write_file("late", b"")
    libc.rewinddir(stream)
    equal({name.decode() for name in iter(following, None)}, names | {"late"})
    libc.closedir(stream)


@check
def many_files_open_at_once_cost_no_descriptors():
    if support.daemon_pid is None:
        raise Skip("no process id given")
    before = len(os.listdir(f"/proc/{support.daemon_pid}/fd"))
    with contextlib.ExitStack() as stack:
        for i in range(800):
            stack.enter_context(opened(f"f{i}", os.O_RDWR | os.O_CREAT))
        during = len(os.listdir(f"/proc/{support.daemon_pid}/fd"))
    assert during < before + 50, f"{before} descriptors before, {during} with 800 files open"
