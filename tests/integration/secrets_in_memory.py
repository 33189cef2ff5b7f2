"""Says where the memory of a process has the passphrase and the master key of an encrypted volume.

Usage: secrets_in_memory.py [--at-exit] PID KEY_FILE VOLUME

Prints one line for each mapping that has one: "passphrase" or "master key", and "locked" if it is locked and left out of core files,
or "open" and what it is. Any 15 bytes of the passphrase in a row count. Ends with 77 if nobody lets it look.

With --at-exit it prints "waiting", and looks at the very end of the process, when all its code has run and its memory is still there.
"""
import ctypes
import json
import os
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import sealed_reader  # noqa: E402

PIECE = 8
PAGE = 4096
ZEROS = bytes(PAGE)


def mappings_of(pid):
    """(begin, end, name, flags) of all that can be written to."""
    found = []
    with open(f"/proc/{pid}/smaps") as lines:
        for line in lines:
            begins = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
            if begins:
                found.append([int(begins[1], 16), int(begins[2], 16), begins[3], begins[4], []])
            elif line.startswith("VmFlags:"):
                found[-1][4] = line.split()[1:]
    return [(begin, end, name, flags) for begin, end, rights, name, flags in found if rights.startswith("rw")]


def content_of(memory, begin, end):
    """Without pages of zeros, which are most of it."""
    memory.seek(begin)
    content = []
    while begin < end:
        part = memory.read(min(end - begin, 1 << 20))
        if not part:
            break
        begin += len(part)
        content += [part[at:at + PAGE] for at in range(0, len(part), PAGE) if part[at:at + PAGE] != ZEROS]
    return b"".join(content)


def needles_of(key_file, volume):
    """The pieces of the passphrase, and the master key."""
    passphrase = pathlib.Path(key_file).read_bytes().removesuffix(b"\n")
    header = json.loads((pathlib.Path(volume) / "superblock.json").read_text())
    master = sealed_reader.Key(header, passphrase).master
    pieces = [passphrase[at:at + PIECE] for at in range(0, len(passphrase) - PIECE + 1, PIECE)]  # 15 bytes have one of these
    return pieces, master


def look(pid, pieces, master):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, name, flags in mappings_of(pid):
            content = content_of(memory, begin, end)
            what = "locked" if {"lo", "dd"} <= set(flags) else f"open {begin:x}-{end:x} {name}"
            if any(piece in content for piece in pieces):
                print(f"passphrase {what}")
            if master in content:
                print(f"master key {what}")


PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE = 7, 17, 0x4206
PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT = 0x40, 6
WAIT_FOR_ALL = 0x40000000  # __WALL


def wait_for_exit(pid):
    """Until the process has nothing left to do but to give its memory back. False: it ended otherwise."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request, data):
        if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) != 0:
            raise PermissionError(ctypes.get_errno(), "ptrace")

    ptrace(PTRACE_SEIZE, PTRACE_O_TRACEEXIT)
    print("waiting", flush=True)
    while True:
        _, status = os.waitpid(pid, WAIT_FOR_ALL)
        if not os.WIFSTOPPED(status):
            return False
        if status >> 8 == signal.SIGTRAP | PTRACE_EVENT_EXIT << 8:
            return True
        caught = os.WSTOPSIG(status)
        ptrace(PTRACE_CONT, 0 if status >> 16 else caught)


def main(pid, key_file, volume, at_exit):
    pieces, master = needles_of(key_file, volume)
    try:
        if at_exit and not wait_for_exit(int(pid)):
            print("the process ended before anybody could look")
            return 1
        look(pid, pieces, master)
    except PermissionError:
        return 77
    return 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--at-exit"]
    if len(words) != 3 or words[0] in ("-h", "--help"):
        sys.exit(__doc__)
    sys.exit(main(*words, at_exit="--at-exit" in sys.argv))
