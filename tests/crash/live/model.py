"""What a folder of the volume must hold after each operation: a model of the part of a filesystem that the workload uses.

Operations are tuples: a name, then its arguments. Paths are relative to the folder of one worker. Contents are immutable,
so that copies of a tree are cheap.
"""
import hashlib
import os
import stat


class Inode:
    __slots__ = ("kind", "mode", "uid", "gid", "data", "xattrs", "_digest")

    def __init__(self, kind, mode, data=b""):
        self.kind, self.mode, self.uid, self.gid, self.data, self.xattrs = kind, mode, 0, 0, data, {}
        self._digest = None

    def copy(self):
        other = Inode(self.kind, self.mode, self.data)
        other.uid, other.gid, other.xattrs, other._digest = self.uid, self.gid, dict(self.xattrs), self._digest
        return other

    def set_data(self, data):
        self.data, self._digest = data, None

    def digest(self):
        if self._digest is None:
            self._digest = digest_of(self.data)
        return self._digest


def digest_of(data):
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Tree:
    """path -> Inode; two paths of one Inode are hard links."""

    def __init__(self):
        self.names = {}

    def copy(self):
        other, copies = Tree(), {}
        for path, inode in self.names.items():
            other.names[path] = copies.setdefault(id(inode), None) or inode.copy()
            copies[id(inode)] = other.names[path]
        return other

    def paths(self, kind):
        return [path for path, inode in self.names.items() if inode.kind == kind]

    def children(self, folder):
        return [path for path in self.names if path.startswith(folder + "/")]

    def apply(self, op):
        getattr(self, "_" + op[0])(*op[1:])

    def entries(self):
        """path -> everything that a crash must not mix up, in the form that entries_of_folder() gives for a real folder."""
        links = {}
        for path, inode in self.names.items():
            links.setdefault(id(inode), []).append(path)
        return {
            path: (
                inode.kind, inode.mode, inode.uid, inode.gid,
                len(inode.data) if inode.kind == "f" else 0, inode.digest(),
                tuple(sorted(inode.xattrs.items())),
                tuple(sorted(links[id(inode)])) if len(links[id(inode)]) > 1 else (),
            )
            for path, inode in self.names.items()
        }  # fmt: skip

    def _create(self, path, mode):
        self.names[path] = Inode("f", mode)

    def _mkdir(self, path, mode):
        self.names[path] = Inode("d", mode)

    def _symlink(self, path, target):
        self.names[path] = Inode("l", 0o777, target.encode())

    def _mkfifo(self, path, mode):
        self.names[path] = Inode("p", mode)

    def _write(self, path, offset, data):
        old = self.names[path].data
        gap = b"\0" * (offset - len(old)) if offset > len(old) else b""
        self.names[path].set_data(old[:offset] + gap + data + old[offset + len(data) :])

    def _append(self, path, data):
        self._write(path, len(self.names[path].data), data)

    def _copy_range(self, source, from_offset, path, to_offset, length):
        self._write(path, to_offset, self.names[source].data[from_offset : from_offset + length])

    def _truncate(self, path, size):
        old = self.names[path].data
        self.names[path].set_data(old[:size] + b"\0" * (size - len(old)))

    def _punch(self, path, offset, length):
        old = self.names[path].data
        length = min(length, len(old) - offset)
        self.names[path].set_data(old[:offset] + b"\0" * length + old[offset + length :])

    def _rename(self, path, to):
        if self.names.get(to) is self.names[path]:
            return  # two links of one file: POSIX says that nothing happens
        moved = {to + old[len(path) :]: self.names.pop(old) for old in [path, *self.children(path)]}
        self.names.update(moved)

    def _link(self, path, to):
        self.names[to] = self.names[path]

    def _remove(self, path):
        del self.names[path]

    def _chmod(self, path, mode):
        self.names[path].mode = mode

    def _chown(self, path, uid, gid):
        self.names[path].uid, self.names[path].gid = uid, gid

    def _setxattr(self, path, name, value):
        self.names[path].xattrs[name] = value.hex()

    def _removexattr(self, path, name):
        del self.names[path].xattrs[name]

    def _fsync(self, path):
        pass


KINDS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFIFO: "p"}


def entries_of_folder(root):
    """As Tree.entries(), of a real folder."""
    found, links = {}, {}
    for folder, folders, files in os.walk(root, onerror=_raise):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            kind, data = KINDS.get(stat.S_IFMT(status.st_mode), "?"), b""
            if kind == "f":
                with open(path, "rb", buffering=0) as file:
                    data = file.readall()
                if len(data) != status.st_size:
                    kind = f"f, of size {status.st_size} but with {len(data)} bytes"
            elif kind == "l":
                data = os.readlink(path).encode()
            xattrs = () if kind in "lp" else tuple(
                sorted((name, os.getxattr(path, name).hex()) for name in os.listxattr(path) if name.startswith("user."))
            )  # fmt: skip
            relative = os.path.relpath(path, root)
            links.setdefault(status.st_ino, []).append(relative)
            size = len(data) if kind[0] == "f" else 0
            found[relative] = [kind, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, size, digest_of(data), xattrs, status]  # fmt: skip
    for path, entry in found.items():
        group = links[entry[-1].st_ino]
        linked = entry[-1].st_nlink != 1 and entry[0][0] != "d"
        entry[-1] = tuple(sorted(group)) if linked and entry[-1].st_nlink == len(group) else (
            ("a link count of", entry[-1].st_nlink, *sorted(group)) if linked else ())  # fmt: skip
        found[path] = tuple(entry)
    return found


def _raise(error):
    raise error
