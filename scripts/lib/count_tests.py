"""Counts the test cases of the last `meson test` in a build folder and prints "N passed, N failed[, N skipped]".

A Google Test program has one case for each test in the XML that it wrote; any other test has one for each line
"PASS name", "FAIL name" or "SKIP name" of its output, or is itself the one case when it prints none. A program that
failed without a failed case (a crash, a sanitizer's report) counts as one more failure.
Exits with 1 when something failed or nothing ran.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def cases_in_xml(path):
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return counts  # the program died while it wrote
    for case in root.iter("testcase"):
        if case.get("status") == "notrun":
            continue
        if case.find("failure") is not None:
            counts["FAIL"] += 1
        elif case.get("result") == "skipped":
            counts["SKIP"] += 1
        else:
            counts["PASS"] += 1
    return counts


def cases_in_output(output):
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for match in re.finditer(r"^(PASS|FAIL|SKIP) \S", output, re.MULTILINE):
        counts[match.group(1)] += 1
    return counts


def cases_of(test, build):
    suite, _, name = test["name"].rpartition(" / ")  # "PROJECT:SUITE / NAME"
    xml = build / (name + ".xml")
    is_script = ":integration" in suite  # which may have the name of a program
    counts = cases_in_xml(xml) if xml.exists() and not is_script else cases_in_output(test["stdout"] or "")
    result = test["result"]
    if result in ("OK", "EXPECTEDFAIL"):
        if not any(counts.values()):
            counts["PASS"] = 1
    elif result == "SKIP":
        if not any(counts.values()):
            counts["SKIP"] = 1
    elif counts["FAIL"] == 0:
        counts["FAIL"] = 1
    return counts


def main():
    build = pathlib.Path(sys.argv[1])
    total = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    log = build / "meson-logs" / "testlog.json"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for line in lines:
        for kind, count in cases_of(json.loads(line), build).items():
            total[kind] += count
    skipped = f", {total['SKIP']} skipped" if total["SKIP"] else ""
    print(f"{total['PASS']} passed, {total['FAIL']} failed{skipped}")
    return 1 if total["FAIL"] or not total["PASS"] else 0


if __name__ == "__main__":
    sys.exit(main())
