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


def change(name):
    """A function of Copy by its name: with its arguments it gives a change, which is made to a copy later."""
    return lambda *arguments: lambda copy: getattr(copy, name)(*arguments)


write, append, replace, remove = map(change, ("write", "append", "replace", "remove"))


def all_of(*changes):
    return lambda copy: [make_change(copy) for make_change in changes]


MANY = "".join(f"  int f{i}(std::function<void(int)> call = [](int) {{}});\n" for i in range(26))
MEMBERS = "".join(f"  std::function<void()> f{i} = [] {{}};\n  int g{i} DEDUPFS_GUARDED_BY(mutex) = f(1);\n"
                  for i in range(26))
HEADER = "#pragma once\n"
IN_NAMESPACE = "namespace dedupfs {\n%s}  // namespace dedupfs\n"
EXEMPT = next(iter(locks.NATIVE))

# Of each rule: a name, a change that breaks the rule, what the finding must name.
BROKEN = {
    "rooms": [
        ("an include that the table does not allow",
         append("src/base/size.h", '#include "store/format/types.h"\n'), "base may not include store/format"),
        ("a room without a row", write("src/attic/box.h", HEADER), "no row for the room attic"),
        ("a row without a room",
         replace(layers.DESIGN, r"^\| `base` \|", "| `attic` | boxes | nothing |\n| `base` |"), "the room attic does not exist"),
        ("a row that allows what nobody includes",
         replace(layers.DESIGN, r"^(\| `fs/transactions` .*\| )`base`, ", r"\1`base`, `codec`, "),
         "nothing in fs/transactions includes codec"),
        ("no table of rooms", replace(layers.DESIGN, r"^\| Room \|", "| Chamber |"), "no table"),
    ],
    "folder-cycles": [
        ("folders in a circle", append("src/codec/codec.h", '#include "index/database.h"\n'), "src/codec, src/index"),
    ],
    "file-cycles": [
        ("files in a circle", append("src/base/bytes.h", '#include "base/coding.h"\n'), "src/base/bytes, src/base/coding"),
        ("files in a circle by way of a .cc",
         all_of(write("src/base/a.h", HEADER), write("src/base/a.cc", '#include "base/b.h"\n'),
                write("src/base/b.h", '#include "base/a.h"\n')),
         "src/base/a, src/base/b"),
        ("test files in a circle",
         all_of(write("tests/base/a.h", '#include "b.h"\n'), write("tests/base/b.h", '#include "a.h"\n')),
         "tests/base/a, tests/base/b"),
    ],
    "includes-resolve": [
        ("an include of nothing", append("src/base/size.h", '#include "base/attic.h"\n'), "base/attic.h"),
    ],
    "libraries": [
        ("RocksDB outside of its room",
         append("src/store/format/types.h", "#include <rocksdb/db.h>\n"), "store/format may not include <rocksdb/db.h>"),
        ("libfuse outside of its room", append("src/fs/format/types.h", "#include <fuse_lowlevel.h>\n"), "<fuse_lowlevel.h>"),
        ("zstd outside of its room", append("src/store/format/region.cc", "#include <zstd.h>\n"), "<zstd.h>"),
        ("a row for a library that nobody includes",
         replace(layers.DESIGN, r"^\| `openssl/` \| ", "| `openssl/` | `base`, "), "base includes <openssl/>"),
    ],
    "backing": [
        ("fopen in the store", append("src/store/format/types.cc", 'void* f() { return fopen("x", "w"); }\n'), "fopen("),
        ("ofstream in the index", append("src/index/counters.cc", 'std::ofstream file("x");\n'), "std::ofstream"),
        ("unlink in fs", append("src/fs/check/fsck.cc", 'int f() { return ::unlink("x"); }\n'), "::unlink("),
        ("std::filesystem::remove in fs",
         append("src/fs/check/fsck.cc", 'bool f() { return std::filesystem::remove("x"); }\n'), "remove("),
        ("an exception from Backing that is none",
         replace(layers.DESIGN, r"^\| `store/volume/ballast.cc` ", "| `store/volume/ballast.h` "), "ballast.h"),
    ],
    "containers": [
        ("a container file in fs", append("src/fs/namespace/files.cc", "void f(ContainerStore&);\n"), "ContainerStore"),
    ],
    "length": [
        ("a long file", append("src/base/size.cc", "\n" * shape.MAX_LINES), "src/base/size.cc"),
    ],
    "classes": [
        ("a class with many public functions",
         write("src/base/many.h", f"class Many final {{\n public:\n{MANY}}};\n"), "Many has 26"),
        ("a struct with many public functions", write("src/base/many.h", f"struct Many {{\n{MANY}}};\n"), "Many has 26"),
        ("a class with an attribute and many public functions",
         write("src/base/many.h", f'class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] Many {{\n public:\n{MANY}}};\n'),
         "Many has 26"),
        ("a reason for few functions", write("src/base/few.h", "// Many functions: none.\nclass Few {\n};\n"), "Few has 0"),
    ],
    "one-definition": [
        ("two types of one name",
         all_of(write("src/base/a.h", IN_NAMESPACE % "struct Attic {\n  int a;\n};\n"),
                write("src/codec/a.h", IN_NAMESPACE % "class [[nodiscard]] Attic final : public Box {\n};\n")),
         "src/codec/a.h:2: there is another dedupfs::Attic at src/base/a.h:2"),
        ("a type of a test that has the name of one of ours",
         append("tests/base/size_test.cc", IN_NAMESPACE % "enum class ErrorCode { kAttic };\n"), "another dedupfs::ErrorCode"),
    ],
    "readmes": [
        ("a folder without a README", remove("src/base/README.md"), "src/base: has no README.md"),
        ("a README that names no file", append("src/base/README.md", "`attic.h`\n"), "there is no attic.h"),
        ("a README that is a book", append("src/base/README.md", "\n" * 40), "src/base/README.md"),
    ],
    "twins": [
        ("a source without a test", write("src/base/attic.cc", "int f() { return 1; }\n"), "tests/base/attic_test.cc"),
        ("a reason for a source that has a test",
         append(shape.UNTESTED, "src/base/size.cc: nobody cares\n"), "src/base/size.cc has a test"),
        ("a reason that names no test",
         all_of(write("src/base/attic.cc", ""), append(shape.UNTESTED, "src/base/attic.cc: tests/base/cellar_test.cc\n")),
         "cellar_test.cc"),
    ],
    "locks": [
        ("a mutex that clang cannot check", append("src/base/size.h", "std::mutex mutex;\n"), "std::mutex"),
        ("a lock that clang cannot check",
         append("tools/console.h", "inline void f(Mutex& mutex) { const std::lock_guard lock(mutex); }\n"), "std::lock_guard"),
        ("a condition variable of the library",
         append("src/base/size.h", "std::condition_variable_any changed;\n"), "std::condition_variable_any"),
        ("an exemption that nobody needs", write(EXEMPT, HEADER), f"{EXEMPT} has none"),
        ("an exemption of nothing", remove(EXEMPT), f"{EXEMPT} does not exist"),
    ],
    "unanalysed": [
        ("a function that clang leaves out, without a reason",
         append("src/base/size.h", "\nvoid f() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;\n"), "needs a reason"),
    ],
}

# Of each rule: a name, and a change that does not break the rule.
SOUND = {
    "classes": [
        ("many private functions", write("src/base/many.h", f"class Many {{\n{MANY}}};\n")),
        ("many public functions with a reason",
         write("src/base/many.h", f"// Everything.\n// Many functions: it is\n// all.\nstruct Many {{\n{MANY}}};\n")),
        ("many members that are no functions",
         write("src/base/many.h", f"struct Many {{\n{MEMBERS}}};\n")),
    ],
    "one-definition": [
        ("types of one name that no other file can see",
         all_of(write("src/base/a.h", IN_NAMESPACE % "struct Attic {\n  struct Box {\n  };\n};\nstruct Cellar;\n"),
                write("src/base/b.h", IN_NAMESPACE % "struct Cellar {\n  struct Box {\n  };\n};\n"),
                write("src/base/a.cc", IN_NAMESPACE % "namespace {\nstruct Attic {\n};\n}\n"))),
    ],
    "locks": [
        ("locks that clang can check, and what only looks like others",
         append("src/base/size.h", "// std::mutex\ninline Mutex mutex;\ninline std::once_flag flag;\n")),
    ],
    "unanalysed": [
        ("functions that clang leaves out, with a reason",
         append("src/base/size.h", "void f() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;  // many locks\n"
                "// Any lock.\nvoid g() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;\n"
                "void h() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS;\n")),
    ],
    "backing": [
        ("calls of the system in comments and strings",
         append("src/fs/check/fsck.cc", '// ::unlink(x)\nauto t = "fopen(x)"; /* std::ofstream */\n')),
        ("functions of ours that are called as those of the system",
         append("src/fs/check/fsck.cc", "void f() { folder->open(x); Volume::open(x); index.rename(y); }\n")),
    ],
}


def findings_of(copy, rule, make_change):
    try:
        make_change(copy)
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
        for rule, rows in BROKEN.items():
            for name, break_it, expected in rows:
                findings = findings_of(copy, rule, break_it)
                check(f"{rule} finds {name}", any(expected in finding for finding in findings), findings)
        for rule, rows in SOUND.items():
            known = set(lint.RULES[rule](Tree(copy.root)))
            for name, keep_it in rows:
                findings = [finding for finding in findings_of(copy, rule, keep_it) if finding not in known]
                check(f"{rule} allows {name}", not findings, findings)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
