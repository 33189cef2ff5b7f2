#!/usr/bin/python3
"""COUNT hard links to one file, and COUNT files in one directory: made, listed, looked up and removed, each checked.

Usage: many_names.py FOLDER COUNT. Prints how long each step took.
"""
import os
import random
import sys
import time


def step(what, count, work):
    begin = time.monotonic()
    result = work()
    seconds = time.monotonic() - begin
    print(f"{what}: {seconds:.1f} s, {count / max(seconds, 1e-9):,.0f}/s", flush=True)
    return result


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    place = os.path.join(folder, "many")
    os.mkdir(place)
    os.chdir(place)
    names = [f"name-{number:07}" for number in range(count)]
    sample = random.Random(1).sample(range(count), min(count, 1000))

    with open("one", "w", encoding="ascii") as file:
        file.write("one file")
    os.mkdir("links")
    step("hard links made", count, lambda: [os.link("one", f"links/{name}") for name in names])
    assert os.stat("one").st_nlink == count + 1
    listed = step("listed", count, lambda: sorted(os.listdir("links")))
    assert listed == names
    inode = os.stat("one").st_ino
    assert all(os.stat(f"links/{names[i]}").st_ino == inode for i in sample)
    step("hard links removed", count, lambda: [os.unlink(f"links/{name}") for name in names])
    assert os.stat("one").st_nlink == 1 and not os.listdir("links")
    with open("one", encoding="ascii") as file:
        assert file.read() == "one file"

    os.mkdir("files")
    step("files made", count, lambda: [os.close(os.open(f"files/{name}", os.O_WRONLY | os.O_CREAT)) for name in names])
    listed = step("listed", count, lambda: sorted(os.listdir("files")))
    assert listed == names
    step("looked up", len(sample), lambda: [os.stat(f"files/{names[i]}") for i in sample])
    assert not os.path.exists("files/name-x")

    def count_while_removing():  # whoever reads a directory while it is emptied sees each of the rest once
        with os.scandir("files") as entries:
            seen = [entry.name for entry in entries if not os.unlink(f"files/{entry.name}")]
        return seen

    seen = step("files removed while they are listed", count, count_while_removing)
    assert sorted(seen) == names and not os.listdir("files")
    os.chdir("/")
    for rest in ("one", "links", "files"):
        path = os.path.join(place, rest)
        os.unlink(path) if rest == "one" else os.rmdir(path)
    os.rmdir(place)


main()
