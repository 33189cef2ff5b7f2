#!/usr/bin/python3
"""Checks the rules of the house that a machine can keep. Prints a line for each finding; exits with 1 if there is one.

Usage: lint.py [ROOT]
"""
import pathlib
import sys

import layers
import locks
import shape
from sources import Tree

RULES = {**layers.RULES, **shape.RULES, **locks.RULES}


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    tree = Tree(root)
    findings = [f"{finding} [{name}]" for name, rule in RULES.items() for finding in rule(tree)]
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
