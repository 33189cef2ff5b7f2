"""Keeps the table "Record of the long checks" in docs/testing.md: a row for each stage of scripts/check-release, its newest run.

Usage: release_record.py FILE --missing REVISION STAGE...           prints the stages that have not passed on REVISION, one a line
       release_record.py FILE --note REVISION STAGE RESULT SECONDS  notes a run; RESULT is "N passed, N failed[, N skipped]"
"""
import datetime
import pathlib
import re
import sys

BEGIN = "| Stage | Revision | Day | Result | Seconds |\n|---|---|---|---|---|\n"
ROW = re.compile(r"^\| (?P<stage>\S+) \| (?P<revision>\S+) \| (?P<day>\S+) \| (?P<result>[^|]*) \| (?P<seconds>\d+) \|$")


def split(text):
    """What stands before the rows, the rows by stage, what stands behind them."""
    before, found, rest = text.partition(BEGIN)
    if not found:
        raise SystemExit("release_record.py: the table is missing")
    rows = {}
    lines = rest.splitlines(keepends=True)
    while lines and (row := ROW.match(lines[0].rstrip("\n"))):
        rows[row["stage"]] = row
        lines.pop(0)
    return before + found, rows, "".join(lines)


def main():
    path = pathlib.Path(sys.argv[1])
    before, rows, behind = split(path.read_text(encoding="utf-8"))
    if sys.argv[2] == "--missing":
        revision, *stages = sys.argv[3:]
        for stage in stages:
            row = rows.get(stage)
            if not row or row["revision"] != revision or not re.search(r"\b0 failed", row["result"]):
                print(stage)
        return
    revision, stage, result, seconds = sys.argv[3:]
    lines = {name: row[0] for name, row in rows.items()}
    lines[stage] = f"| {stage} | {revision} | {datetime.date.today()} | {result} | {seconds} |"
    path.write_text(before + "".join(line + "\n" for line in lines.values()) + behind, encoding="utf-8")


if __name__ == "__main__":
    main()
