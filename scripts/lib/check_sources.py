"""Compiles each source of src/ and tools/ by itself and writes no object: that is what tells whether it includes what it uses.

Usage: check_sources.py BUILD      a build folder that was set up, with unity=off; it needs no build
Exits with 1 if a source does not compile.
"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def command_of(unit):
    """What compiles it, without what it would write."""
    words = iter(shlex.split(unit["command"]))
    command = []
    for word in words:
        if word in ("-o", "-MF", "-MQ"):
            next(words)
        elif word not in ("-c", "-MD"):
            command.append(word)
    if command[0].endswith("ccache"):
        del command[0]
    return command + ["-fsyntax-only"]


def is_fine(unit):
    return subprocess.run(command_of(unit), cwd=unit["directory"], check=False).returncode == 0


def main():
    build = sys.argv[1]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        units = {unit["file"]: unit for unit in json.load(file)}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        fine = list(workers.map(is_fine, units.values()))
    print(f"{sum(fine)} of {len(fine)} sources compile by themselves")
    return 0 if fine and all(fine) else 1


sys.exit(main())
