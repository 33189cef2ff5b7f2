"""Says where the memory of a process has the passphrase and the master key of an encrypted volume.

Usage: secrets_in_memory.py PID KEY_FILE VOLUME

Prints one line for each mapping that has one: "passphrase" or "master key", and "locked" if it is locked and left out of core files,
or "open" and what it is. Any 15 bytes of the passphrase in a row count. Ends with 77 if nobody lets it look.
"""
import json
import pathlib
import re
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


def main(pid, key_file, volume):
    passphrase = pathlib.Path(key_file).read_bytes().removesuffix(b"\n")
    header = json.loads((pathlib.Path(volume) / "superblock.json").read_text())
    master = sealed_reader.Key(header, passphrase).master
    pieces = [passphrase[at:at + PIECE] for at in range(0, len(passphrase) - PIECE + 1, PIECE)]  # 15 bytes have one of these
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for begin, end, name, flags in mappings_of(pid):
                content = content_of(memory, begin, end)
                what = "locked" if {"lo", "dd"} <= set(flags) else f"open {begin:x}-{end:x} {name}"
                if any(piece in content for piece in pieces):
                    print(f"passphrase {what}")
                if master in content:
                    print(f"master key {what}")
    except PermissionError:
        return 77
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
