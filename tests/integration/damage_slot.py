"""Changes one digit of a key slot in both copies of the key header of an encrypted volume, and makes their checksums right again.

Usage: damage_slot.py VOLUME SLOT salt|check|key      the first slot is 1
"""
import json
import pathlib
import sys

import xxhash

MEMBER = len('"checksum": "0123456789abcdef"\n}\n')


def main(volume, slot, field):
    for name in ("superblock.json", "superblock.copy.json"):
        path = pathlib.Path(volume) / name
        text = path.read_text()
        old = json.loads(text)["key_slots"][int(slot) - 1][field]
        covered = text[:-MEMBER].replace(old, f"{int(old[0], 16) ^ 1:x}{old[1:]}")
        path.write_text(f'{covered}"checksum": "{xxhash.xxh3_64_hexdigest(covered)}"\n}}\n')


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
