#!/usr/bin/env python3
"""Prints each relative link in Markdown files of a folder that leads to nothing, or out of the folder. Exit code 1: there is one.

Usage: dead_links.py FOLDER     such as /usr/share/doc/dedupfs
"""
import pathlib
import re
import sys
import urllib.parse

CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.M | re.S)
# [text](target "title"), and [label]: target
LINK = re.compile(r"\]\(\s*<?([^()\s<>]+)>?[^()]*\)|^\[[^\]]+\]:\s*<?([^\s<>]+)", re.M)
SOMEWHERE_ELSE = re.compile(r"[a-z][a-z0-9+.-]*:|#|//")


def dead_links(folder):
    """(file, target) of each."""
    for path in sorted(folder.rglob("*.md")):
        text = CODE.sub("", path.read_text(encoding="utf-8"))
        for found in LINK.finditer(text):
            target = found[1] or found[2]
            if SOMEWHERE_ELSE.match(target):
                continue
            place = (path.parent / urllib.parse.unquote(target.partition("#")[0])).resolve()
            if not place.exists() or not place.is_relative_to(folder):
                yield path.relative_to(folder), target


def main(arguments):
    folder = pathlib.Path(arguments[0]).resolve()
    found = list(dead_links(folder))
    for path, target in found:
        print(f"{path}: {target}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
