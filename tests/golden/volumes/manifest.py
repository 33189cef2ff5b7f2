"""Prints what a mounted volume holds, as tests/format_reader.py --list does for one that is not mounted, with the SHA-256 of
each file's content besides. By system calls alone, so that it is independent of both.

Usage: manifest.py MOUNTPOINT
"""
import hashlib
import json
import os
import stat
import sys
import urllib.parse


def printable(name):
    return urllib.parse.quote_from_bytes(name, safe=" !\"#$&'()*+,/:;<=>?@[\\]^`{|}")


def time_text(nanoseconds):
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}"


def entry_of(place, path, first_names):
    st = os.lstat(place)
    entry = {"path": printable(path), "mode": f"{st.st_mode:o}", "uid": st.st_uid, "gid": st.st_gid, "links": st.st_nlink,
             "size": st.st_size, "atime": time_text(st.st_atime_ns), "mtime": time_text(st.st_mtime_ns),
             "ctime": time_text(st.st_ctime_ns)}
    names = os.listxattr(place, follow_symlinks=False)
    entry["xattrs"] = {name: os.getxattr(place, name, follow_symlinks=False).hex() for name in names}
    if stat.S_ISREG(st.st_mode):
        with open(place, "rb") as file:
            entry["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    elif stat.S_ISLNK(st.st_mode):
        entry["target"] = printable(os.readlink(place))
    elif stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
        entry["device"] = st.st_rdev
    if first_names.setdefault(st.st_ino, entry["path"]) != entry["path"]:
        entry["same_file_as"] = first_names[st.st_ino]
    return entry


def walk(place, path, first_names):
    yield entry_of(place, path, first_names)
    for name in sorted(os.listdir(place)):
        inner = os.path.join(place, name)
        if stat.S_ISDIR(os.lstat(inner).st_mode):
            yield from walk(inner, os.path.join(path, name), first_names)
        else:
            yield entry_of(inner, os.path.join(path, name), first_names)


def main():
    for entry in walk(os.fsencode(sys.argv[1]), b"/", {}):
        print(json.dumps(entry, sort_keys=True))


if __name__ == "__main__":
    main()
