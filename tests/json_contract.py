"""Checks documents of dedupfs's programs against their schemas (docs/json.md): python3 json_contract.py [FILE]

FILE (default: standard input) has JSON documents, one after the other. Each names its schema, a file of docs/schemas. Prints what is
wrong, a line for each finding. The exit status is 0 only if nothing is.
"""
import functools
import json
import pathlib
import re
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "docs/schemas"

SPACE = re.compile(r"\s*")


@functools.cache
def schema_named(name):
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


@functools.cache
def names():
    return sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json"))


def with_local_references(text):
    return re.sub(r'"([\w-]+)\.schema\.json#/\$defs/', r'"#/$defs/\1.', text)


@functools.cache
def validator_for(name):
    """What a schema uses of others is put into it: versions of jsonschema differ in how they are told of other files."""
    schema, *others = (json.loads(with_local_references(json.dumps(schema_named(one)))) for one in [name, *names()])
    parts = schema.setdefault("$defs", {})
    for other, document in zip(names(), others):
        parts.update({f"{other}.{part}": value for part, value in document.get("$defs", {}).items()})
    return jsonschema.Draft202012Validator(schema)


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def documents_in(text):
    """All of them. ValueError for what is not JSON."""
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    documents, at = [], 0
    while (at := SPACE.match(text, at).end()) < len(text):
        document, at = decoder.raw_decode(text, at)
        documents.append(document)
    return documents


def findings_of(document):
    """What is wrong with a document, as lines of text."""
    if not isinstance(document, dict) or "schema" not in document or "schema_version" not in document:
        return ["a document is an object with the keys schema and schema_version"]
    name = document["schema"]
    if name not in names():
        return [f"there is no docs/schemas/{name}.schema.json"]
    validator = validator_for(name)
    return [f"{name}: {'/'.join(map(str, error.absolute_path)) or 'the document'}: {error.message[:300]}"
            for error in validator.iter_errors(document)]


def findings_in(text):
    try:
        documents = documents_in(text)
    except ValueError as error:
        return [f"this is not JSON: {error}: {text[:200]}"]
    if not documents:
        return ["there is no document"]
    return [finding for document in documents for finding in findings_of(document)]


def main(arguments):
    text = pathlib.Path(arguments[0]).read_text(encoding="utf-8") if arguments else sys.stdin.buffer.read().decode("utf-8")
    findings = findings_in(text)
    print("".join(f"{finding}\n" for finding in findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
