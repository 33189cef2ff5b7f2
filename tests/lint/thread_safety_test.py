"""Clang refuses code that breaks the rules of its locks, and takes the same code without the mistake. Prints PASS or FAIL for each.

Usage: thread_safety_test.py CLANG++ FLAG...    the flags of the build; -Werror comes from here
"""
import pathlib
import re
import subprocess
import sys

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"
SKIPPED = 77  # to meson

# What is checked: (right, wrong).
CASES = {
    "a guarded member needs its mutex": ("const MutexLock lock(mutex_); ++count_;", "++count_;"),
    "a function that wants the mutex needs it": ("const MutexLock lock(mutex_); count();", "count();"),
    "a function that takes the mutex cannot be called with it": ("take();", "const MutexLock lock(mutex_); take();"),
    "a mutex is not taken twice": (
        "const MutexLock lock(mutex_);", "const MutexLock lock(mutex_); const MutexLock again(mutex_);"),
    "a mutex is released": ("mutex_.lock(); mutex_.unlock();", "mutex_.lock();"),
    "work without the mutex in the middle touches nothing it guards": (
        "const MutexLock lock(mutex_); { const MutexUnlock unlocked(mutex_); } ++count_;",
        "const MutexLock lock(mutex_); { const MutexUnlock unlocked(mutex_); ++count_; }"),
    "work without the mutex begins with it": (
        "const MutexLock lock(mutex_); const MutexUnlock unlocked(mutex_);", "const MutexUnlock unlocked(mutex_);"),
    "a mutex that was tried may not be there": (
        "if (!mutex_.try_lock()) return; const MutexLock lock(mutex_, std::adopt_lock); ++count_;",
        "if (mutex_.try_lock()) return; const MutexLock lock(mutex_, std::adopt_lock); ++count_;"),
    "who waits holds the mutex": (
        "const MutexLock lock(mutex_); changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return count_ > 0; });",
        "changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return count_ > 0; });"),
    "a predicate says that it has the mutex": (
        "const MutexLock lock(mutex_); changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return count_ > 0; });",
        "const MutexLock lock(mutex_); changed_.wait(mutex_, [this] { return count_ > 0; });"),
    "a reader may read": ("const ReaderLock lock(names_mutex_); static_cast<void>(names_ + 1);", "static_cast<void>(names_ + 1);"),
    "a reader may not write": ("const WriterLock lock(names_mutex_); ++names_;", "const ReaderLock lock(names_mutex_); ++names_;"),
    "locks have an order": (
        "const MutexLock first(first_); const MutexLock lock(mutex_);", "const MutexLock lock(mutex_); const MutexLock first(first_);"),
    "locks of different classes have an order": (
        "const MutexLock lock(mutex_); const MutexLock leaf(leaf_.mutex);", "const MutexLock leaf(leaf_.mutex); const MutexLock lock(mutex_);"),
    "the order passes over what lies between": (
        "const MutexLock first(first_); const MutexLock leaf(leaf_.mutex);",
        "const MutexLock leaf(leaf_.mutex); const MutexLock first(first_);"),
}
SOURCE = """
#include "base/mutex.h"
using namespace dedupfs;
class DEDUPFS_CAPABILITY("level") Level {};
extern const Level leaves;
struct Leaf { Mutex mutex DEDUPFS_ACQUIRED_AFTER(leaves); };
class Example {
 public:
%s
 private:
  void count() DEDUPFS_REQUIRES(mutex_) { ++count_; }
  void take() DEDUPFS_EXCLUDES(mutex_) { const MutexLock lock(mutex_); ++count_; }
  Mutex first_ DEDUPFS_ACQUIRED_BEFORE(mutex_);
  Mutex mutex_ DEDUPFS_ACQUIRED_BEFORE(leaves);
  ConditionVariable changed_;
  int count_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  SharedMutex names_mutex_;
  int names_ DEDUPFS_GUARDED_BY(names_mutex_) = 0;
  Leaf leaf_;
};
"""


def errors_of(compiler, flags, source):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Werror", "-ferror-limit=0", *flags, f"-I{SRC}", "-x", "c++", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False).stderr


def errors_of_functions(compiler, flags, bodies):
    """What the compiler says about each of these functions, and about all else. Each stands on a line of its own."""
    first = SOURCE[:SOURCE.index("%s")].count("\n") + 1
    errors, others = [""] * len(bodies), ""
    functions = "\n".join(f"  void run_{i}() {{ {body} }}" for i, body in enumerate(bodies))
    for line in errors_of(compiler, flags, SOURCE % functions).splitlines():
        found = re.match(r"<stdin>:(\d+):\d+: (?:error|note)", line)
        if found and 0 <= int(found.group(1)) - first < len(bodies):
            errors[int(found.group(1)) - first] += line + "\n"
        elif " error: " in line:
            others += line + "\n"
    return errors, others


def main(compiler, *flags):
    if errors := errors_of(compiler, [], "#include <condition_variable>\n#include <mutex>\n#include <shared_mutex>\n"):
        print(f"SKIP {compiler} does not understand the C++ library of this machine: {errors}")
        return SKIPPED
    failures = 0
    right, others_of_right = errors_of_functions(compiler, flags, [right for right, _ in CASES.values()])
    wrong, others_of_wrong = errors_of_functions(compiler, flags, [wrong for _, wrong in CASES.values()])
    for name, errors, refused in zip(CASES, right, wrong):
        errors += others_of_right + others_of_wrong
        passed = not errors and "[-Werror,-Wthread-safety" in refused
        print(f"PASS {name}" if passed else f"FAIL {name}: {errors or 'the mistake is not found'}", flush=True)
        failures += not passed
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
