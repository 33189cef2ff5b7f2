"""The rules of lint.py hold here, and each finds a tree that breaks it. Prints PASS or FAIL for each check.

Needs no build. `lint.py` alone prints the findings about this tree.
"""
import pathlib
import re
import shutil
import sys
import tempfile

import layers
import lint
import locks
import shape
from sources import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILURES = []


def check(name, passed, detail=""):
    print(f"PASS {name}" if passed else f"FAIL {name}: {detail}", flush=True)
    if not passed:
        FAILURES.append(name)


class Copy:
    """A copy of what the rules read. change() and friends are undone by restore()."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "tree"
        for top in ("src", "tools", "tests", "bench", "scripts", "docs"):
            shutil.copytree(ROOT / top, self.root / top, ignore=shutil.ignore_patterns("golden", "figures", "__pycache__"))
        self.before = {}

    def keep(self, name):
        path = self.root / name
        self.before.setdefault(path, path.read_text(encoding="utf-8") if path.exists() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, name, text):
        self.keep(name).write_text(text, encoding="utf-8")

    def append(self, name, text):
        path = self.keep(name)
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    def replace(self, name, pattern, text):
        path = self.keep(name)
        changed, count = re.subn(pattern, text, path.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
        assert count == 1, f"{name} has no {pattern}"
        path.write_text(changed, encoding="utf-8")

    def remove(self, name):
        self.keep(name).unlink()

    def restore(self):
        for path, text in self.before.items():
            if text is None:
                path.unlink(missing_ok=True)
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()
            else:
                path.write_text(text, encoding="utf-8")
        self.before.clear()


MANY = "".join(f"  int f{i}(std::function<void(int)> call = [](int) {{}});\n" for i in range(26))
HEADER = "#pragma once\n"
EXEMPT = next(iter(locks.NATIVE))

# Rule, the change that breaks it, what the finding must name.
BROKEN = {
    "an include that the table does not allow": (
        "rooms", lambda copy: copy.append("src/base/size.h", '#include "store/format/types.h"\n'),
        "base may not include store/format"),
    "a room without a row": (
        "rooms", lambda copy: copy.write("src/attic/box.h", HEADER), "no row for the room attic"),
    "a row without a room": (
        "rooms", lambda copy: copy.replace(layers.DESIGN, r"^\| `base` \|", "| `attic` | boxes | nothing |\n| `base` |"),
        "the room attic does not exist"),
    "a row that allows what nobody includes": (
        "rooms", lambda copy: copy.replace(layers.DESIGN, r"^(\| `fs/transactions` .*\| )`base`, ", r"\1`base`, `codec`, "),
        "nothing in fs/transactions includes codec"),
    "no table of rooms": (
        "rooms", lambda copy: copy.replace(layers.DESIGN, r"^\| Room \|", "| Chamber |"), "no table"),
    "folders in a circle": (
        "folder-cycles", lambda copy: copy.append("src/codec/codec.h", '#include "index/database.h"\n'), "src/codec, src/index"),
    "files in a circle": (
        "file-cycles", lambda copy: copy.append("src/base/bytes.h", '#include "base/coding.h"\n'), "src/base/bytes, src/base/coding"),
    "files in a circle by way of a .cc": (
        "file-cycles", lambda copy: (copy.write("src/base/a.h", HEADER), copy.write("src/base/a.cc", '#include "base/b.h"\n'),
                                     copy.write("src/base/b.h", '#include "base/a.h"\n')), "src/base/a, src/base/b"),
    "test files in a circle": (
        "file-cycles", lambda copy: (copy.write("tests/base/a.h", '#include "b.h"\n'), copy.write("tests/base/b.h", '#include "a.h"\n')),
        "tests/base/a, tests/base/b"),
    "an include of nothing": (
        "includes-resolve", lambda copy: copy.append("src/base/size.h", '#include "base/attic.h"\n'), "base/attic.h"),
    "RocksDB outside of its room": (
        "libraries", lambda copy: copy.append("src/store/format/types.h", "#include <rocksdb/db.h>\n"),
        "store/format may not include <rocksdb/db.h>"),
    "libfuse outside of its room": (
        "libraries", lambda copy: copy.append("src/fs/format/types.h", "#include <fuse_lowlevel.h>\n"), "<fuse_lowlevel.h>"),
    "zstd outside of its room": (
        "libraries", lambda copy: copy.append("src/store/format/region.cc", "#include <zstd.h>\n"), "<zstd.h>"),
    "a row for a library that nobody includes": (
        "libraries", lambda copy: copy.replace(layers.DESIGN, r"^\| `openssl/` \| ", "| `openssl/` | `base`, "), "base includes <openssl/>"),
    "fopen in the store": (
        "backing", lambda copy: copy.append("src/store/format/types.cc", 'void* f() { return fopen("x", "w"); }\n'), "fopen("),
    "ofstream in the index": (
        "backing", lambda copy: copy.append("src/index/counters.cc", 'std::ofstream file("x");\n'), "std::ofstream"),
    "unlink in fs": (
        "backing", lambda copy: copy.append("src/fs/check/fsck.cc", 'int f() { return ::unlink("x"); }\n'), "::unlink("),
    "std::filesystem::remove in fs": (
        "backing", lambda copy: copy.append("src/fs/check/fsck.cc", 'bool f() { return std::filesystem::remove("x"); }\n'), "remove("),
    "an exception from Backing that is none": (
        "backing", lambda copy: copy.replace(layers.DESIGN, r"^\| `store/volume/ballast.cc` ", "| `store/volume/ballast.h` "), "ballast.h"),
    "a container file in fs": (
        "containers", lambda copy: copy.append("src/fs/namespace/files.cc", "void f(ContainerStore&);\n"), "ContainerStore"),
    "a long file": (
        "length", lambda copy: copy.append("src/base/size.cc", "\n" * shape.MAX_LINES), "src/base/size.cc"),
    "a class with many public functions": (
        "classes", lambda copy: copy.write("src/base/many.h", f"class Many final {{\n public:\n{MANY}}};\n"), "Many has 26"),
    "a struct with many public functions": (
        "classes", lambda copy: copy.write("src/base/many.h", f"struct Many {{\n{MANY}}};\n"), "Many has 26"),
    "a class with an attribute and many public functions": (
        "classes", lambda copy: copy.write(
            "src/base/many.h", f'class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] Many {{\n public:\n{MANY}}};\n'), "Many has 26"),
    "a reason for few functions": (
        "classes", lambda copy: copy.write("src/base/few.h", "// Many functions: none.\nclass Few {\n};\n"), "Few has 0"),
    "a folder without a README": (
        "readmes", lambda copy: copy.remove("src/base/README.md"), "src/base: has no README.md"),
    "a README that names no file": (
        "readmes", lambda copy: copy.append("src/base/README.md", "`attic.h`\n"), "there is no attic.h"),
    "a README that is a book": (
        "readmes", lambda copy: copy.append("src/base/README.md", "\n" * 40), "src/base/README.md"),
    "a source without a test": (
        "twins", lambda copy: copy.write("src/base/attic.cc", "int f() { return 1; }\n"), "tests/base/attic_test.cc"),
    "a reason for a source that has a test": (
        "twins", lambda copy: copy.append(shape.UNTESTED, "src/base/size.cc: nobody cares\n"), "src/base/size.cc has a test"),
    "a reason that names no test": (
        "twins", lambda copy: (copy.write("src/base/attic.cc", ""),
                               copy.append(shape.UNTESTED, "src/base/attic.cc: tests/base/cellar_test.cc\n")), "cellar_test.cc"),
    "a mutex that clang cannot check": (
        "locks", lambda copy: copy.append("src/base/size.h", "std::mutex mutex;\n"), "std::mutex"),
    "a lock that clang cannot check": (
        "locks", lambda copy: copy.append("tools/console.h", "inline void f(Mutex& mutex) { const std::lock_guard lock(mutex); }\n"),
        "std::lock_guard"),
    "a condition variable of the library": (
        "locks", lambda copy: copy.append("src/base/size.h", "std::condition_variable_any changed;\n"), "std::condition_variable_any"),
    "an exemption that nobody needs": (
        "locks", lambda copy: copy.write(EXEMPT, HEADER), f"{EXEMPT} has none"),
    "an exemption of nothing": (
        "locks", lambda copy: copy.remove(EXEMPT), f"{EXEMPT} does not exist"),
    "a function that clang leaves out, without a reason": (
        "unanalysed", lambda copy: copy.append("src/base/size.h", "\nvoid f() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;\n"), "needs a reason"),
}

# What breaks no rule.
SOUND = {
    "many private functions": (
        "classes", lambda copy: copy.write("src/base/many.h", f"class Many {{\n{MANY}}};\n")),
    "many public functions with a reason": (
        "classes", lambda copy: copy.write("src/base/many.h", f"// Everything.\n// Many functions: it is\n// all.\nstruct Many {{\n{MANY}}};\n")),
    "locks that clang can check, and what only looks like others": (
        "locks", lambda copy: copy.append("src/base/size.h", "// std::mutex\ninline Mutex mutex;\ninline std::once_flag flag;\n")),
    "functions that clang leaves out, with a reason": (
        "unanalysed", lambda copy: copy.append("src/base/size.h", "void f() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;  // many locks\n"
                                               "// Any lock.\nvoid g() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;\nvoid h() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;\n")),
    "many members that are no functions": (
        "classes", lambda copy: copy.write("src/base/many.h", "struct Many {\n" + "".join(
            f"  std::function<void()> f{i} = [] {{}};\n  int g{i} DEDUPFS_GUARDED_BY(mutex) = f(1);\n" for i in range(26)) + "};\n")),
    "calls of the system in comments and strings": (
        "backing", lambda copy: copy.append("src/fs/check/fsck.cc", '// ::unlink(x)\nauto t = "fopen(x)"; /* std::ofstream */\n')),
    "functions of ours that are called as those of the system": (
        "backing", lambda copy: copy.append("src/fs/check/fsck.cc", "void f() { folder->open(x); Volume::open(x); index.rename(y); }\n")),
}


def findings_of(copy, rule, change):
    try:
        change(copy)
        return lint.RULES[rule](Tree(copy.root))
    finally:
        copy.restore()


def main():
    tree = Tree(ROOT)
    for name, rule in lint.RULES.items():
        findings = rule(tree)
        check(f"{name} holds", not findings, "\n  ".join(["", *findings]))
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        for name, (rule, change, expected) in BROKEN.items():
            findings = findings_of(copy, rule, change)
            check(f"{rule} finds {name}", any(expected in finding for finding in findings), findings)
        for name, (rule, change) in SOUND.items():
            known = set(lint.RULES[rule](Tree(copy.root)))
            findings = [finding for finding in findings_of(copy, rule, change) if finding not in known]
            check(f"{rule} allows {name}", not findings, findings)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
