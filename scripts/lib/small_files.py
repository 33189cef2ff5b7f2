"""Files as a benchmark of names needs them."""
import random

IN_A_FOLDER = 100


def make_files(folder, count):
    """Of 200 to 2,000 random bytes, the same each time."""
    chosen = random.Random(1)
    for number in range(count):
        parent = folder / f"{number // IN_A_FOLDER:04}"
        parent.mkdir(parents=True, exist_ok=True)
        (parent / f"file-{number}").write_bytes(chosen.randbytes(chosen.randrange(200, 2000)))
