"""Rules about locks: clang checks who holds which, so they are those of base/mutex.h, and what clang leaves out has a reason."""
import re

MUTEX = "src/base/mutex.h"
# Sources with locks of the standard library, which clang cannot check, and why. Entries only go.
NATIVE = {
    "src/mount/daemon/daemon_log.cc": "the mutex is that of spdlog's sinks",
    "src/mount/supervision/journal_log.h": "the mutex is that of spdlog's sinks",
}
NATIVE_LOCK = re.compile(
    r"\bstd::(?:(?:recursive_|shared_)?(?:timed_)?mutex|lock_guard|unique_lock|shared_lock|scoped_lock|condition_variable(?:_any)?)\b")
UNANALYSED = "DEDUPFS_NO_THREAD_SAFETY_ANALYSIS"
ANNOTATIONS = "src/base/thread_annotations.h"


def check_native(tree):
    findings = [f"tests/lint/locks.py: {path} does not exist: take it out of NATIVE" for path in NATIVE if path not in tree.sources]
    for source in tree.below("src", "tools"):
        uses = list(NATIVE_LOCK.finditer(source.code))
        if source.path in NATIVE and not uses:
            findings.append(f"tests/lint/locks.py: {source.path} has none any more: take it out of NATIVE")
        elif source.path not in NATIVE and source.path != MUTEX:
            findings += [f"{source.path}:{source.line_of(use.start())}: {use.group(0)}: clang checks the locks of base/mutex.h only"
                         for use in uses]
    return findings


def check_unanalysed(tree):
    """A function that the analysis leaves out says why: in the line, or in a comment above it."""
    findings = []
    for source in tree.below("src", "tools"):
        if source.path == ANNOTATIONS:
            continue
        lines = source.text.splitlines()
        for use in re.finditer(UNANALYSED, source.code):
            number = source.line_of(use.start())
            first = number  # of several such functions below one comment
            while first > 1 and UNANALYSED in lines[first - 2]:
                first -= 1
            above = lines[first - 2].lstrip() if first > 1 else ""
            if "//" not in lines[number - 1] and not above.startswith("//"):
                findings.append(f"{source.path}:{number}: {UNANALYSED} needs a reason in a comment beside it")
    return findings


RULES = {"locks": check_native, "unanalysed": check_unanalysed}
