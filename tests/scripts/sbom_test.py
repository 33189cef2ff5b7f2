"""What scripts/sbom says of the programs of a build. Prints PASS or FAIL for each check.

Usage: sbom_test.py FOLDER_WITH_PROGRAMS
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILURES = []


def check(name, passed, detail=""):
    print(f"PASS {name}" if passed else f"FAIL {name}: {detail}", flush=True)
    if not passed:
        FAILURES.append(name)


def bill_of(folder):
    return subprocess.run([ROOT / "scripts/sbom", folder], check=True, capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "86400"}).stdout


def check_form(bill):
    check("it is SPDX 2.3", (bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
    check("its time is that of the source", bill["creationInfo"]["created"] == "1970-01-02T00:00:00Z", bill["creationInfo"])
    ids = [package["SPDXID"] for package in bill["packages"]]
    check("identifiers are valid", all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in ids), ids)
    check("and each is there once", len(set(ids)) == len(ids), ids)
    named = {relation[end] for relation in bill["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
    check("relationships name what is there", named == {*ids, "SPDXRef-DOCUMENT"}, named ^ {*ids, "SPDXRef-DOCUMENT"})
    required = {"name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText", "versionInfo"}
    check("packages have what is required", all(required <= package.keys() for package in bill["packages"]))


def check_truth(bill, folder):
    packages = {package["name"]: package for package in bill["packages"]}
    documented = set(re.findall(r"^\| \[?([^]|]+?)\]?(?:\(| )[^|]*\| [^|]+\| [^|]+\| (?:dynamically|statically|header only) \|",
                                (ROOT / "docs/licenses.md").read_text(), re.MULTILINE))
    known = set(packages) - {"dedupfs"}
    missing = {name for name in known if not any(name.startswith(row) or row.startswith(name) for row in documented)}
    check("docs/licenses.md has each library", not missing, missing)
    missing = {row for row in documented if not any(name.startswith(row) or row.startswith(name) for name in known)}
    check("and the bill each of docs/licenses.md", not missing, missing)
    said = subprocess.run([pathlib.Path(folder, "dedupfs"), "--version"], check=True, capture_output=True, text=True).stdout
    for label, name in (("libfuse", "libfuse 3"), ("RocksDB", "RocksDB"), ("zstd", "Zstandard"), ("OpenSSL", "OpenSSL 3"), ("xxHash", "xxHash")):
        version = re.search(rf"{label} ([\d.]+)", said).group(1)
        check(f"the version of {label} is that of --version", packages[name]["versionInfo"].startswith(version), packages[name]["versionInfo"])
    check("xdelta3 is linked statically", {"spdxElementId": "SPDXRef-dedupfs", "relationshipType": "STATIC_LINK",
                                           "relatedSpdxElement": "SPDXRef-xdelta3"} in bill["relationships"])


def main():
    folder = sys.argv[1]
    text = bill_of(folder)
    check("the same build gives the same bill", bill_of(folder) == text)
    check_form(json.loads(text))
    check_truth(json.loads(text), folder)
    return 1 if FAILURES else 0


sys.exit(main())
