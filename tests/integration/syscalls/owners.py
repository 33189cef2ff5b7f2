"""Who owns what, and who may do what."""
import errno
import os
import stat
import subprocess

from .support import (
    KEEP_SIZE, NOBODY, PUNCH_HOLE, UTIME_NOW, ZERO_RANGE, as_nobody, check, equal, fails_with, fallocate, needs_root, opened,
    read_file, utimensat, write_file
)


@needs_root
def objects_belong_to_the_caller():
    os.chmod(".", 0o777)
    os.mkdir("shared")
    os.chown("shared", 0, 1234)
    os.chmod("shared", 0o2777)

    def create():
        os.umask(0o027)
        write_file("f", mode=0o666)
        os.mkdir("d")
        os.symlink("f", "l")
        os.mkfifo("p")
        write_file("shared/f")
        os.mkdir("shared/d")

    as_nobody(create)
    for name in ("f", "d", "l", "p"):
        equal((os.lstat(name).st_uid, os.lstat(name).st_gid), (NOBODY, NOBODY))
    equal((stat.S_IMODE(os.stat("f").st_mode), stat.S_IMODE(os.stat("d").st_mode)), (0o640, 0o750))
    equal((os.stat("shared/f").st_gid, os.stat("shared/d").st_gid), (1234, 1234))
    assert os.stat("shared/d").st_mode & stat.S_ISGID


@needs_root
def permissions_are_enforced():
    os.chmod(".", 0o755)
    write_file("secret", mode=0o600)
    write_file("public", mode=0o644)
    os.mkdir("closed", 0o700)
    os.mkdir("sticky")
    os.chmod("sticky", 0o1777)
    write_file("sticky/f")

    def attempts():
        equal(read_file("public"), b"data")
        for attempt in (lambda: read_file("secret"), lambda: os.open("public", os.O_WRONLY), lambda: os.listdir("closed"),
                        lambda: write_file("new"), lambda: utimensat("public", (0, UTIME_NOW), (0, UTIME_NOW))):
            with fails_with(errno.EACCES):
                attempt()
        for attempt in (lambda: os.unlink("sticky/f"), lambda: os.chmod("public", 0o777), lambda: os.chown("public", NOBODY, -1),
                        lambda: utimensat("public", (1, 0), (1, 0))):
            with fails_with(errno.EPERM, errno.EACCES):
                attempt()

    as_nobody(attempts)


@needs_root
def set_user_id_is_lost_on_change():
    write_file("f")
    os.chmod("f", 0o6777)
    os.chown("f", 1, 1)
    equal(stat.S_IMODE(os.stat("f").st_mode), 0o777)
    os.chmod("f", 0o6777)
    os.chmod(".", 0o777)
    as_nobody(lambda: open("f", "ab").write(b"x"))
    equal(stat.S_IMODE(os.stat("f").st_mode), 0o777)
    os.chmod("f", 0o6777)
    as_nobody(lambda: os.truncate("f", 1))
    equal(stat.S_IMODE(os.stat("f").st_mode), 0o777)


@needs_root
def set_group_id_is_lost_to_those_outside_of_the_group():
    """Also without execution by the group, where the kernel leaves it to the filesystem."""
    os.chmod(".", 0o777)
    write_file("f", b"x" * 20000)
    write_file("source", b"y" * 100)

    def mode_after(change, groups=()):
        os.chown("f", NOBODY, 1234)
        os.chmod("f", 0o6666)
        as_nobody(change, groups)
        # The mode alone, as the kernel may have it still: os.stat() asks for times, too.
        mode = int(subprocess.run(["stat", "-c", "%a", "f"], check=True, capture_output=True).stdout, 8)
        equal(mode, stat.S_IMODE(os.stat("f").st_mode))
        return mode

    def with_file(change):
        def changed():
            with opened("f", os.O_RDWR) as fd:
                change(fd)
        return changed

    def copy(fd):
        with opened("source", os.O_RDONLY) as source:
            os.copy_file_range(source, fd, 100)

    changes = [lambda fd: os.pwrite(fd, b"x", 0), lambda fd: os.ftruncate(fd, 15000), copy]
    changes += [lambda fd, mode=mode: fallocate(fd, mode, 4096, 4096)
                for mode in (0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE)]
    for number, change in enumerate(changes):
        equal((number, oct(mode_after(with_file(change)))), (number, oct(0o666)))
        equal((number, oct(mode_after(with_file(change), [1234]))), (number, oct(0o2666)))
    os.chown("f", NOBODY, 1234)
    os.chmod("f", 0o2666)
    with opened("f", os.O_RDWR) as fd:  # root keeps it
        fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 4096)
    equal(oct(os.stat("f").st_mode & 0o7777), oct(0o2666))


@needs_root
def set_group_id_is_lost_by_an_access_list_of_an_owner_outside_of_the_group():
    def mode_after_setfacl(groups):
        write_file("f")
        os.chown("f", NOBODY, 1234)
        os.chmod("f", 0o2755)
        as_nobody(lambda: subprocess.run(["setfacl", "-m", "u::rwx,g::rwx,o::r--", "f"], check=True), groups)
        return oct(stat.S_IMODE(os.stat("f").st_mode))

    os.chmod(".", 0o777)
    equal(mode_after_setfacl([]), oct(0o774))
    equal(mode_after_setfacl([1234]), oct(0o2774))


def acl_of(path):
    output = subprocess.run(["getfacl", "-cnE", path], check=True, capture_output=True, text=True).stdout
    return output.split()


@needs_root
def access_lists_are_inherited_and_enforced():
    os.mkdir("d", 0o755)
    subprocess.run(["setfacl", "-m", "d:u:nobody:rwx,d:g:1234:r-x,d:o::---", "d"], check=True)
    os.umask(0o077)  # counts for nothing where a default list is
    try:
        write_file("d/f", mode=0o666)
        os.mkdir("d/sub")
    finally:
        os.umask(0o022)
    assert f"user:{NOBODY}:rwx" in acl_of("d/f") and "mask::rw-" in acl_of("d/f"), acl_of("d/f")
    equal(stat.S_IMODE(os.stat("d/f").st_mode), 0o660)
    equal([line for line in acl_of("d/sub") if line.startswith("default:")],
          [line for line in acl_of("d") if line.startswith("default:")])
    as_nobody(lambda: write_file("d/f", b"by nobody"))
    os.chmod("d/f", 0o600)  # narrows the mask
    assert "mask::---" in acl_of("d/f"), acl_of("d/f")

    def refused():
        with fails_with(errno.EACCES):
            read_file("d/f")

    as_nobody(refused)
    subprocess.run(["setfacl", "-b", "-k", "d"], check=True)
    equal(acl_of("d"), ["user::rwx", "group::r-x", "other::r-x"])
