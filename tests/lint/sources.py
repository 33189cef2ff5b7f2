"""The sources of the project as the rules of lint.py see them: files, includes, code without comments."""
import functools
import pathlib
import posixpath
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# Comments, strings (raw ones too) and characters. A quote inside of a number, as in 64'000, is no character.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


class Source:
    """A file, named by its path from the root of the project."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")

    @functools.cached_property
    def code(self):
        """The text with blanks for comments and strings: offsets and lines stay."""
        return NOT_CODE.sub(blank, self.text)

    @property
    def folder(self):
        return self.path.rpartition("/")[0]

    @property
    def room(self):
        """The name that the table of rooms has for the folder: without src/."""
        return self.folder.removeprefix("src/")

    @property
    def unit(self):
        """x.h and x.cc are one unit: who includes the one depends on the other."""
        return re.sub(r"\.(cc|h)$", "", self.path)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def includes(self):
        """(line, whether it is quoted, what is included) of each #include."""
        return [(self.line_of(match.start()), match.group(1) == '"', match.group(2)) for match in INCLUDE.finditer(self.text)]


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.sources = {}
        for top in ("src", "tools", "tests", "bench"):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in (".cc", ".h"):
                    source = Source(self.root, path)
                    self.sources[source.path] = source

    def below(self, *tops):
        return [source for source in self.sources.values() if source.path.split("/")[0] in tops]

    def target(self, source, name):
        """The file of the project that `name`, included by `source`, means. None: it is none of ours."""
        folder = source.folder
        places = [f"src/{name}", f"tools/{name}"]
        while folder:  # tests find what they share in the folders above them
            places.append(posixpath.normpath(f"{folder}/{name}"))
            folder = folder.rpartition("/")[0]
        return next((self.sources[place] for place in places if place in self.sources), None)

    def project_includes(self, source):
        """(line, file) of each include of a file of the project."""
        found = []
        for line, quoted, name in source.includes():
            target = self.target(source, name) if quoted else None
            if target:
                found.append((line, target))
        return found


def cycles(edges):
    """The strongly connected parts of a graph, {node: set of nodes}, that have more than one node."""
    index, low, stack, on_stack, parts = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
                on_stack.discard(part[-1])
            if len(part) > 1:
                parts.append(sorted(part))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return parts
