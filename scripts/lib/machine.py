"""What the benchmarks say about the machine that they ran on."""
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def kernel():
    """Its version, without what a distribution or a host adds."""
    return re.match(r"\d+(\.\d+)?", platform.release()).group()


def description():
    """The revision of this tree, the processor, its cores and the kernel, in one line without a full stop."""
    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return f"Revision {revision}, {processor()}, {os.cpu_count()} cores, Linux {kernel()}"
