"""Compares what is sealed in copies of an encrypted volume that went on apart. Reads the format from docs/format.md alone.

Usage: shared_keys.py KEY_FILE BEFORE COPY COPY...      BEFORE is the folder from before they went on apart

What one of them has and BEFORE has not must be sealed with salts that neither BEFORE nor another copy has, so with keys of its own.
And no pair of salt and nonce seals two things. Prints how much is new in each, and what is wrong.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import sealed_reader  # noqa: E402

CLEAR = {"superblock.json", "superblock.copy.json", "lock", "ballast", "control.sock"}


def parts_of(volume, passphrase):
    key = sealed_reader.Key(json.loads((volume / "superblock.json").read_text()), passphrase)
    parts = set()
    for path in sorted(volume.rglob("*")):
        name = str(path.relative_to(volume))
        if path.is_file() and name not in CLEAR:
            place = sealed_reader.place_of(name)
            parts.update((salt, place, nonce, text) for salt, nonce, text in sealed_reader.sealed_parts(path.read_bytes(), key, place))
    return parts


def main(key_file, folders):
    passphrase = pathlib.Path(key_file).read_bytes().removesuffix(b"\n")
    before, *copies = [parts_of(pathlib.Path(folder), passphrase) for folder in folders]
    wrong = 0
    news = [copy - before for copy in copies]
    for i, new in enumerate(news):
        salts = {salt for salt, *_ in new}
        print(f"{folders[1 + i]}: {len(new)} new, with {len(salts)} salts")
        wrong += len(new) == 0
        for j, other in enumerate([before] + news):
            shared = salts & {salt for salt, *_ in other} if j != 1 + i else set()
            if shared:
                print(f"{folders[1 + i]} and {folders[j]} share {len(shared)} salts")
                wrong += 1
    everything = before.union(*copies)
    if len({part[:3] for part in everything}) != len(everything):
        print("a pair of key and nonce sealed two things")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
