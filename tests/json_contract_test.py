"""The schemas of docs/schemas, and that they notice a wrong key, a wrong type and a missing key."""
import copy
import json
import pathlib
import re
import unittest

import jsonschema

import json_contract

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The one that lists only some keys of its documents: docs/control-protocol.md has those of each command.
OPEN = {"control-answer"}
PARTS = {"common"}  # no document has it
PATTERNS = {"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$": "2026-11-25T20:53:00Z", "^([0-9a-f]{2})+$": "6eff", "^[0-7]{6}$": "100644"}


def resolved(schema, root):
    """A schema with what it refers to, and all of its allOf, in one."""
    if "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#/$defs/")
        where = json_contract.schema_named(file.removesuffix(".schema.json")) if file else root
        return resolved(where["$defs"][pointer], where)
    merged = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema.get("allOf", []):
        other = resolved(part, root)
        merged["properties"] = {**other.get("properties", {}), **merged.get("properties", {})}
        merged["required"] = [*other.get("required", []), *merged.get("required", [])]
    return merged


def sample(schema, root):
    """A value that keeps to the schema: all keys, one element in each list, and no null where something else may be."""
    schema = resolved(schema, root)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return sample(schema[key][0], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "object")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "object":
        value = {key: sample(part, root) for key, part in schema.get("properties", {}).items()}
        if isinstance(schema.get("additionalProperties"), dict):
            value["50"] = sample(schema["additionalProperties"], root)
        return value
    if kind == "array":
        return [sample(schema["items"], root)] if "items" in schema else []
    if kind == "string":
        return PATTERNS[schema["pattern"]] if "pattern" in schema else "text"
    return {"integer": schema.get("minimum", 0), "number": 0.5, "boolean": True}[kind]


def places(value, path=()):
    """The path of each value inside."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(part, (*path, key))


def changed(document, path, change):
    """A copy in which change(parent, key) was done at a place."""
    result = copy.deepcopy(document)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return result


def at(document, path):
    for key in path:
        document = document[key]
    return document


def objects(schema, where=""):
    """Each object of a schema that has properties, with its place."""
    if isinstance(schema, dict):
        if "properties" in schema and "if" not in where.split("/"):
            yield where, schema
        for key, part in schema.items():
            yield from objects(part, f"{where}/{key}")
    elif isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from objects(part, f"{where}/{index}")


def is_free(schema, root, path):
    """Whether anything may be at this place: lists without a form, the facts of an event."""
    for key in path:
        schema = resolved(schema, root)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                schema = resolved(schema[choice][0], root)
        if "items" in schema:
            schema = schema["items"]
        elif key in schema.get("properties", {}):
            schema = schema["properties"][key]
        else:
            schema = schema.get("additionalProperties", {})
    return not schema


class Schemas(unittest.TestCase):
    def documents(self):
        for name in json_contract.names():
            if name in PARTS:
                continue
            schema = json_contract.schema_named(name)
            with self.subTest(schema=name):
                yield name, schema, sample(schema, schema)

    def test_each_is_a_schema_of_draft_2020_12(self):
        for name in json_contract.names():
            schema = json_contract.schema_named(name)
            with self.subTest(schema=name):
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
                self.assertEqual(schema["title"], name)
                self.assertTrue(schema["description"])

    def test_each_object_says_what_is_required_and_takes_no_other_key(self):
        for name in json_contract.names():
            if name in OPEN:
                continue
            schema = json_contract.schema_named(name)
            for where, found in objects(schema):
                with self.subTest(schema=name, object=where):
                    self.assertIn("required", found)
                    is_part = where == "/$defs/volume"  # what has it adds keys
                    self.assertTrue(is_part or found.get("additionalProperties") is False or found.get("unevaluatedProperties") is False)

    def test_each_key_is_described(self):
        for name in json_contract.names():
            schema = json_contract.schema_named(name)
            for where, found in objects(schema):
                for key, part in found["properties"].items():
                    with self.subTest(schema=name, key=f"{where}/{key}"):
                        text = json.dumps(part)
                        self.assertTrue("description" in text or "$ref" in text or "const" in part or "enum" in part)
                        if re.search("_(bytes|seconds|percent)$", key) and part.get("type") in ("integer", "number"):
                            self.assertRegex(text, "bytes|seconds|percent")

    def test_a_document_that_keeps_to_it_is_accepted(self):
        for name, _, document in self.documents():
            if name != "control-answer":
                self.assertEqual(json_contract.findings_of(document), [])

    def test_another_key_is_found(self):
        for name, _, document in self.documents():
            if name in OPEN:
                continue
            for path in [(), *(place for place in places(document) if isinstance(at(document, place), dict))]:
                if path and path[-1] in ("facts", "index_table_bytes", "percentiles", "passes_self_test"):
                    continue
                broken = changed(document, (*path, "nonsense"), lambda parent, key: parent.update({key: 1}))
                self.assertNotEqual(json_contract.findings_of(broken), [], f"{name}: {path}")

    def test_a_missing_key_is_found(self):
        for name, schema, document in self.documents():
            if name in OPEN:
                continue
            for key in resolved(schema, schema)["required"]:
                broken = changed(document, (key,), lambda parent, key: parent.pop(key))
                self.assertNotEqual(json_contract.findings_of(broken), [], f"{name}: {key}")

    def test_a_wrong_type_is_found(self):
        for name, schema, document in self.documents():
            if name in OPEN:
                continue
            for path in places(document):
                if is_free(schema, schema, path):
                    continue
                value = at(document, path)
                wrong = [] if isinstance(value, dict) else {"wrong": 1}
                broken = changed(document, path, lambda parent, key, wrong=wrong: parent.__setitem__(key, wrong))
                self.assertNotEqual(json_contract.findings_of(broken), [], f"{name}: {path}")

    def test_an_answer_of_the_daemon_has_an_error_or_is_ok(self):
        answer = {"schema": "control-answer", "schema_version": 1, "ok": True}
        self.assertEqual(json_contract.findings_of({**answer, "pid": 1}), [])
        self.assertEqual(json_contract.findings_of({**answer, "ok": False, "error": "no"}), [])
        for broken in ({**answer, "ok": False}, {**answer, "error": "no"}, {**answer, "ok": 1}, {**answer, "scrub": 1}):
            self.assertNotEqual(json_contract.findings_of(broken), [], broken)


class Documents(unittest.TestCase):
    GOOD = '{"schema": "error", "schema_version": 1, "error": {"message": "m", "exit_code": 2}}'

    def test_several_may_follow_each_other(self):
        self.assertEqual(json_contract.findings_in(f"{self.GOOD}\n{self.GOOD}\n"), [])
        self.assertEqual(len(json_contract.findings_in(f'{self.GOOD}\n{{"a": 1}}')), 1)

    def test_what_is_no_document_is_found(self):
        for text in ("", "text", "[]", "{", self.GOOD + "x", '{"schema": "nonsense", "schema_version": 1}', '{"schema": "error", "schema_version": 1, "error": NaN}'):
            self.assertNotEqual(json_contract.findings_in(text), [], text)


class Documentation(unittest.TestCase):
    def test_the_page_lists_each_schema(self):
        page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
        for name in json_contract.names():
            self.assertIn(f"`{name}`", page)

    def test_each_document_that_the_sources_write_has_a_schema(self):
        written = set()
        for folder in ("src", "tools"):
            for path in (ROOT / folder).rglob("*.cc"):
                text = path.read_text(encoding="utf-8")
                written |= set(re.findall(r'(?:console_?\.print|print_line|document_text|public_text)\(\s*"([^"]+)"', text))
                written |= set(re.findall(r'\bshow\(\w+, "([^"]+)"', text))
        self.assertEqual(written | {"error", "common"}, set(json_contract.names()))

    def test_a_result_behind_progress_may_say_so(self):
        users = {path.name for path in (ROOT / "tools").glob("*.cc") if re.search(r"\bdefine_progress_flag\(\*?\w+\);", path.read_text(encoding="utf-8"))}
        self.assertIn("remote_arguments.cc", users)
        for name in sorted(users - {"remote_arguments.cc"} | {"dedupfs_remote.cc"}):
            text = (ROOT / "tools" / name).read_text(encoding="utf-8")
            results = set(re.findall(r'(?:console_?\.print\(|\bshow\(\w+, )"([^"]+)"', text))
            self.assertTrue(results, name)
            for result in results:
                with self.subTest(schema=result):
                    document = {**sample(json_contract.schema_named(result), json_contract.schema_named(result)), "event": "result"}
                    self.assertEqual(json_contract.findings_of(document), [])


if __name__ == "__main__":
    unittest.main()
