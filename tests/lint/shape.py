"""Rules about the shape of the sources: their length, the size of classes, one type for a name, a README for each folder, a test for
each source."""
import re

MAX_LINES = 450
MAX_PUBLIC_FUNCTIONS = 25
MANY_FUNCTIONS = "// Many functions:"
# Longer than MAX_LINES, and how long they may be. These numbers only shrink.
LONG_FILES = {}
# Classes with more than MAX_PUBLIC_FUNCTIONS that are to be split, and how many they may have. These numbers only shrink.
LARGE_CLASSES = {}
README_MAX_LINES = 30
UNTESTED = "tests/lint/untested.txt"
WITH_README = ("src", "tests", "tools", "bench", "scripts")
# Data for tests, not code.
WITHOUT_README = ("tests/golden/",)
CLASS = re.compile(r"\b(class|struct)\s+(?:alignas\s*\([^)]*\)\s*)?(?:(?:DEDUPFS_[A-Z_]+(?:\s*\([^()]*\))?|\[\[\w+\]\])\s*)*([\w:]+)(?:\s+final)?\s*(?::[^;{}()]*)?\{")
NAMESPACE_OR_TYPE = re.compile(
    r"^(?:inline\s+)?namespace\b\s*(?P<space>[\w:]*)\s*\{|"
    r"^(?:template\s*<[^;{}]+>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+"
    r"(?:(?:alignas|DEDUPFS_[A-Z_]+)\s*\([^()]*\)\s*|DEDUPFS_[A-Z_]+\s|\[\[\w+\]\]\s*)*(?P<type>[\w:]+(?:<[^;{}()]*>)?)[^;{}()]*\{", re.MULTILINE)
ACCESS = re.compile(r"^\s*(public|protected|private)\s*:(?!:)")
MACRO = re.compile(r"\b[A-Z][A-Z0-9_]{3,}\s*(?:\((?:[^()]|\([^()]*\))*\))?")
NOT_A_FUNCTION = re.compile(r"\s*(?:using|typedef|friend|enum|class|struct|union|static_assert|template\s*<[^>]*>\s*(?:class|struct|using))\b")


def check_length(tree):
    findings = []
    for source in tree.below("src", "tools"):
        lines = source.text.count("\n")
        limit = LONG_FILES.get(source.path, MAX_LINES)
        if lines > limit:
            findings.append(f"{source.path}: {lines} lines, {limit} are allowed: split it")
        elif source.path in LONG_FILES and lines <= MAX_LINES:
            findings.append(f"tests/lint/shape.py: {source.path} is short enough: take it out of LONG_FILES")
    findings += [f"tests/lint/shape.py: {path} does not exist: take it out of LONG_FILES" for path in LONG_FILES
                 if path not in tree.sources]
    return findings


def end_of_block(code, start):
    """Behind the brace that closes the one at `start`."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == "{") - (code[at] == "}")
        if depth == 0:
            return at + 1
    return len(code)


def members(body):
    """The declarations in the body of a class, without the bodies of functions and of nested types."""
    begin = at = 0
    while at < len(body):
        if body[at] == "{":
            at = end_of_block(body, at)
            rest = re.match(r"\s*[;,]?", body[at:])
            yield body[begin:at]
            begin = at = at + rest.end()
        elif body[at] == ";":
            yield body[begin:at]
            begin = at = at + 1
        else:
            at += 1


def without_templates(text):
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


def public_functions(kind, name, body):
    """The names of the public functions, without constructors, destructors and what is deleted or defaulted."""
    is_public = kind == "struct"
    found = []
    for member in members(body):
        while access := ACCESS.match(member):
            is_public = access.group(1) == "public"
            member = member[access.end():]
        if not is_public or NOT_A_FUNCTION.match(member) or re.search(r"=\s*(delete|default)\s*$", member):
            continue
        head = without_templates(MACRO.sub("", member.replace("->", "  ").replace("operator()", "operator_call")))
        function = re.match(r"[^={(]*?([~\w]+)\s*\(", head)
        if function and function.group(1).lstrip("~") != name.rpartition(":")[2] and "operator" not in head.split("(")[0]:
            found.append(function.group(1))
    return found


def check_classes(tree):
    findings = []
    for source in tree.below("src", "tools"):
        for match in CLASS.finditer(source.code):
            body = source.code[match.end():end_of_block(source.code, match.end() - 1) - 1]
            functions = public_functions(match.group(1), match.group(2), body)
            reason = reason_above(source, match.start())
            where = f"{source.path}:{source.line_of(match.start())}: {match.group(2)}"
            limit = LARGE_CLASSES.get(match.group(2), MAX_PUBLIC_FUNCTIONS)
            if len(functions) > limit and not reason:
                findings.append(f'{where} has {len(functions)} public functions, {limit} are allowed without a reason '
                                f'("{MANY_FUNCTIONS} ..." in the comment above it)')
            elif len(functions) <= MAX_PUBLIC_FUNCTIONS and reason:
                findings.append(f'{where} has {len(functions)} public functions: take "{MANY_FUNCTIONS}" away')
            if match.group(2) in LARGE_CLASSES and len(functions) <= MAX_PUBLIC_FUNCTIONS:
                findings.append(f"{where} is small enough: take it out of LARGE_CLASSES in tests/lint/shape.py")
    return findings


def reason_above(source, offset):
    lines = source.text[:source.text.rfind("\n", 0, offset) + 1].splitlines()
    while lines and lines[-1].lstrip().startswith("//"):
        if lines[-1].lstrip().startswith(MANY_FUNCTIONS):
            return True
        lines.pop()
    return False


def types_of(source):
    """(line, qualified name) of each type that other files could name: not in a namespace without a name, not inside another type."""
    spaces = []
    for match in NAMESPACE_OR_TYPE.finditer(source.code):
        spaces = [(name, end) for name, end in spaces if match.start() < end]
        names = [name for name, _ in spaces]
        if match["space"] is not None:
            spaces.append((match["space"], end_of_block(source.code, match.end() - 1)))
        elif "" not in names:
            yield source.line_of(match.start()), "::".join([*names, match["type"]])


def check_one_definition(tree):
    """Two types of one name make one program of functions that disagree about its size: no compiler and no linker says so."""
    places = {}
    for source in tree.sources.values():
        for line, name in types_of(source):
            places.setdefault(name, []).append(f"{source.path}:{line}")
    return [f"{found[-1]}: there is another {name} at {', '.join(found[:-1])}: give it a name of its own"
            for name, found in places.items() if len(found) > 1]


def missing_files(root, folder, readme):
    """Names of files in backticks that no file has: neither here, nor in src, nor at the root."""
    names = re.findall(r"`([\w./-]+\.(?:h|cc|py|sh|md|txt|ini))`", readme.read_text(encoding="utf-8"))
    return [name for name in names
            if not any(character.isupper() for character in name.removesuffix("README.md"))  # NAME.h and the like
            and not any((place / name).is_file() for place in (folder, folder.parent, root / "src", root))]


def check_readmes(tree):
    findings = []
    for top in WITH_README:
        folders = [tree.root / top, *(path for path in (tree.root / top).rglob("*") if path.is_dir())]
        for folder in sorted(folders):
            name = folder.relative_to(tree.root).as_posix()
            if name.endswith("__pycache__") or f"{name}/".startswith(WITHOUT_README):
                continue
            # A folder of tests that mirrors one of src has its README there.
            if name.startswith("tests/") and (tree.root / "src" / name.removeprefix("tests/")).is_dir():
                continue
            readme = folder / "README.md"
            if not readme.is_file():
                findings.append(f"{name}: has no README.md: say in ten lines what lives here, what it may know, where to start reading")
            elif (lines := readme.read_text(encoding="utf-8").count("\n")) > README_MAX_LINES:
                findings.append(f"{name}/README.md: {lines} lines, {README_MAX_LINES} are allowed: the rest belongs to docs/")
            if readme.is_file():
                findings += [f"{name}/README.md: there is no {missing}" for missing in missing_files(tree.root, folder, readme)]
    return findings


def untested(tree):
    """{source: reason} of tests/lint/untested.txt, a line "PATH: REASON" each."""
    lines = (tree.root / UNTESTED).read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def check_twins(tree):
    """src/x/y.cc has tests/x/y_test.cc, or a reason in untested.txt why not."""
    reasons = untested(tree)
    findings = [f"{UNTESTED}: {path} does not exist" for path in reasons if path not in tree.sources]
    for source in tree.below("src"):
        if not source.path.endswith(".cc"):
            continue
        twin = "tests/" + source.path.removeprefix("src/").removesuffix(".cc") + "_test.cc"
        if twin not in tree.sources and source.path not in reasons:
            findings.append(f"{source.path}: has no {twin}: write it, or say in {UNTESTED} what tests it")
        elif twin in tree.sources and source.path in reasons:
            findings.append(f"{UNTESTED}: {source.path} has a test: take its line out")
    for path, reason in reasons.items():
        findings += [f"{UNTESTED}: {path}: {test} does not exist" for test in re.findall(r"\btests/[\w./-]*\w", reason)
                     if not (tree.root / test).exists()]
    return findings


RULES = {"length": check_length, "classes": check_classes, "one-definition": check_one_definition, "readmes": check_readmes, "twins": check_twins}
