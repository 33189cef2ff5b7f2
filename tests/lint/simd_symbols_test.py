"""Each archive of SIMD kernels defines one symbol that others can see, its table of kernels, and no weak one.

The archives are compiled for CPUs that not every machine has. The linker takes any one of several weak definitions of a function
or a table. With one from here, the whole program could need such a CPU. Prints PASS or FAIL for each archive.

Usage: simd_symbols_test.py NM ARCHIVE...
"""
import subprocess
import sys

WEAK = "uVvWw"  # as nm has them; u is unique: GCC's form of weak for data
SAMPLE = """
kernels_avx2.cc.o:
0000000000000000 D dedupfs::simd::kAvx2Kernels
                 U abort
0000000000000000 r dedupfs::(anonymous namespace)::kGearTable
0000000000000040 t dedupfs::simd::(anonymous namespace)::scan(unsigned char const*)
"""


def symbols_of(output):
    """(kind, name) of each symbol in the output of nm."""
    return [(line[17], line[19:]) for line in output.splitlines() if len(line) > 19 and line[16] == " " == line[18]]


def findings(output):
    found = [f"weak: {name}" for kind, name in symbols_of(output) if kind in WEAK]
    exported = [name for kind, name in symbols_of(output) if kind.isupper() and kind not in WEAK + "U"]
    if len(exported) != 1 or not exported[0].endswith("Kernels"):
        found.append(f"exports {', '.join(exported) or 'nothing'}, not its table of kernels alone")
    return found


def check(name, problems):
    print(f"FAIL {name}: {'; '.join(problems)}" if problems else f"PASS {name}", flush=True)
    return bool(problems)


def unless(condition, problem):
    return [] if condition else [problem]


def main():
    nm, *archives = sys.argv[1:]
    failed = check("a table alone is allowed", findings(SAMPLE))
    for name, line in {
            "a weak function": "0000000000000000 W unsigned char const* std::find<unsigned char const*>(unsigned char const*)",
            "a weak table": "0000000000000000 V dedupfs::kGearTable",
            "a unique table": "0000000000000000 u dedupfs::kGearTable",
            "a second symbol": "0000000000000000 T dedupfs::helper()"}.items():
        failed |= check(f"{name} is found", unless(findings(SAMPLE + line + "\n"), "it is not"))
    failed |= check("a missing table is found", unless(findings("0000000000000000 t f()\n"), "it is not"))
    failed |= check("there are archives", unless(archives, "there are none"))
    for archive in archives:
        output = subprocess.run([nm, "--demangle", archive], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
        failed |= check(archive.rpartition("/")[2], findings(output))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
