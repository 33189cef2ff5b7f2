"""System calls on a mounted filesystem behave as on a local disk. Prints PASS, FAIL or SKIP and the name of each check.

Usage: syscall_check.py FOLDER [DAEMON_PID] [NAME...]   (a folder on the mount; only the named checks)
The checks are in syscalls/; each gets an empty folder of its own as its working directory. Some need root.
"""
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback

from syscalls import support
from syscalls import names, contents, attributes, owners, locks  # noqa: F401 (importing registers the checks)


def run(folder, selected):
    failures = 0
    for function in support.checks:
        name = function.__name__
        if selected and name not in selected:
            continue
        place = tempfile.mkdtemp(prefix=name[:40] + "-", dir=folder)
        os.chmod(place, 0o755)
        os.chdir(place)
        signal.alarm(60)
        try:
            function()
            print(f"PASS {name}", flush=True)
        except support.Skip as reason:
            print(f"SKIP {name}: {reason}", flush=True)
        except Exception as error:  # whatever went wrong, the next check runs
            failures += 1
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.name == name]
            print(f"FAIL {name}: {error} (line {lines[-1] if lines else line})", flush=True)
        signal.alarm(0)
        os.chdir(folder)
        shutil.rmtree(place, ignore_errors=True)
    return failures


def main():
    arguments = sys.argv[2:]
    if arguments and re.fullmatch(r"\d+", arguments[0]):
        support.daemon_pid = int(arguments.pop(0))
    os.umask(0o022)
    sys.exit(1 if run(os.path.realpath(sys.argv[1]), set(arguments)) else 0)


if __name__ == "__main__":
    main()
