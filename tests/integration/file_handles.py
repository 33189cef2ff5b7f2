"""Takes and opens file handles, as an NFS server in the kernel does.

Usage: file_handles.py save FILE PATH...      writes the handles of the paths to FILE
       file_handles.py check FILE MOUNTPOINT  opens each handle there, and prints the path, inode number and the start of the content
"""
import ctypes
import json
import os
import sys

AT_FDCWD = -100
MAX_HANDLE = 128
libc = ctypes.CDLL(None, use_errno=True)


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * MAX_HANDLE)]


def failure(path):
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)


def take(path):
    handle, mount_id = Handle(bytes=MAX_HANDLE), ctypes.c_int()
    if libc.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount_id), 0) != 0:
        raise failure(path)
    return {"path": path, "type": handle.type, "data": bytes(handle.data[: handle.bytes]).hex()}


def open_handle(mount, saved):
    data = bytes.fromhex(saved["data"])
    handle = Handle(bytes=len(data), type=saved["type"], data=(ctypes.c_ubyte * MAX_HANDLE)(*data))
    descriptor = libc.open_by_handle_at(mount, ctypes.byref(handle), os.O_RDONLY)
    if descriptor < 0:
        raise failure(saved["path"])
    return descriptor


def describe(mount, saved):
    try:
        descriptor = open_handle(mount, saved)
    except OSError as error:
        return error.strerror
    status = os.fstat(descriptor)
    content = os.listdir(descriptor) if os.path.isdir(f"/proc/self/fd/{descriptor}") else os.read(descriptor, 20).decode().strip()
    os.close(descriptor)
    return f"{status.st_ino} {content}"


def main():
    command, file, *rest = sys.argv[1:]
    if command == "save":
        with open(file, "w", encoding="utf-8") as out:
            json.dump([take(path) for path in rest], out)
        return
    mount = os.open(rest[0], os.O_RDONLY | os.O_DIRECTORY)
    with open(file, encoding="utf-8") as saved:
        for one in json.load(saved):
            print(os.path.relpath(one["path"], rest[0]), describe(mount, one))


if __name__ == "__main__":
    main()
