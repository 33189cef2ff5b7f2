"""Prints one line for each object below a folder: everything that a copy must keep.

Usage: manifest.py FOLDER
Link counts of directories and inode numbers differ between filesystems; hard links are shown as the first name of their
group instead. Access times and change times are not kept by any copy.
"""
import hashlib
import os
import stat
import sys


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def attributes_of(path):
    names = sorted(os.listxattr(path, follow_symlinks=False))
    return [(name, os.getxattr(path, name, follow_symlinks=False).hex()) for name in names if name != "security.selinux"]


def line(path, name, first_names):
    st = os.lstat(path)
    parts = [repr(name), stat.filemode(st.st_mode), st.st_uid, st.st_gid, st.st_mtime_ns]
    if stat.S_ISREG(st.st_mode):
        parts += [st.st_size, digest(path)]
    elif stat.S_ISLNK(st.st_mode):
        parts.append(repr(os.readlink(path)))
    elif stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
        parts.append(st.st_rdev)
    if not stat.S_ISDIR(st.st_mode) and st.st_nlink > 1:
        parts.append(("link of", first_names.setdefault((st.st_dev, st.st_ino), name)))
    return " ".join(str(part) for part in [*parts, *attributes_of(path)])


def main():
    root = os.fsencode(sys.argv[1])
    first_names = {}
    names = [b"."]
    for folder, folders, files in os.walk(root):
        names += [os.path.relpath(os.path.join(folder, name), root) for name in folders + files]
    for name in sorted(names):
        print(line(os.path.join(root, name), name, first_names))


if __name__ == "__main__":
    main()
