"""Names what does not look random in the folder of an encrypted volume, and ends with 1 if there is anything.

Usage: looks_random.py VOLUME

Each block of 4 KiB of each sealed file is judged by how often each byte occurs (chi-square) and by whether zlib makes it
smaller; and no 16 bytes occur twice in all of them. Ends of files that are no whole block are judged together.
"""
import pathlib
import sys
import zlib

BLOCK = 4096
CLEAR = {"superblock.json", "superblock.copy.json", "lock", "ballast", "control.sock"}
# Of 255 degrees of freedom: 255 on average, with a deviation of 22.6. Eight of these do not happen by chance.
CHI_SQUARE = range(75, 436)


def finding(block):
    counts = [0] * 256
    for byte in block:
        counts[byte] += 1
    expected = len(block) / 256
    chi_square = sum((count - expected) ** 2 for count in counts) / expected
    if int(chi_square) not in CHI_SQUARE:
        return f"its bytes are not alike in number: chi-square {chi_square:.0f}"
    if len(zlib.compress(block, 9)) < len(block):
        return "zlib makes it smaller"
    return None


def blocks_of(volume):
    """(where, block) of all sealed files. The last one has the ends of all."""
    ends = b""
    for path in sorted(volume.rglob("*")):
        name = str(path.relative_to(volume))
        if not path.is_file() or name in CLEAR:
            continue
        data = path.read_bytes()
        whole = len(data) // BLOCK * BLOCK
        for at in range(0, whole, BLOCK):
            yield f"{name} at {at}", data[at:at + BLOCK]
        ends += data[whole:]
    for at in range(0, len(ends) - BLOCK + 1, BLOCK):
        yield f"ends of files at {at}", ends[at:at + BLOCK]
    if len(ends) >= BLOCK:
        yield "ends of files", ends[-BLOCK:]


def main(volume):
    findings, seen, judged = [], {}, 0
    for where, block in blocks_of(volume):
        judged += 1
        found = finding(block)
        if found:
            findings.append(f"{where}: {found}")
        if where == "ends of files":
            continue  # these bytes were there before
        for at in range(0, BLOCK, 16):
            other = seen.setdefault(block[at:at + 16], where)
            if other is not where:
                findings.append(f"{where}: has 16 bytes of {other}")
                break
    print("\n".join(findings[:20]))
    print(f"{judged} blocks, {len(findings)} findings")
    return 1 if findings or judged < 32 else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
