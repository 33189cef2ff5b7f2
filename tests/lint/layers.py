"""Rules about who may include whom. The tables that they enforce stand in docs/design.md, in the section "Layers":

    | Room | What lives there | May include |     each folder of src and tools, in backticks, and the rooms that it may include
    | Header | Rooms |                             headers of libraries: the rooms that may include them
    | File | Why it calls the system itself |      exceptions from "everything that goes to a volume passes Backing"
"""
import re

from sources import cycles

DESIGN = "docs/design.md"
SECTION = re.compile(r"^## Layers\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BACKTICKS = re.compile(r"`([^`]+)`")
# Rooms whose bytes are those of a volume.
BEHIND_BACKING = ("chunkers", "codec", "delta", "index", "store", "fs")
SYSTEM_CALL = re.compile(
    r"(?<![\w:>.])(?:::|std::)?(?:openat2?|open64|creat|fopen|freopen|mkstemp|mkostemp|memfd_create)\s*\("
    r"|(?<![\w>])::(?:open|write|pwrite|pwritev|writev|ftruncate|truncate|fallocate|rename|renameat2?|unlink|unlinkat|mkdir|mkdirat|link"
    r"|linkat|symlink|symlinkat|rmdir)\s*\("
    r"|\bstd::(?:[oi]?fstream|filebuf)\b"
    r"|\bstd::filesystem::(?:create_\w+|remove\w*|rename|copy\w*|resize_file|permissions|last_write_time)\s*\(")
# Filesystem code reaches the data of containers through ChunkStore.
CONTAINER_TYPE = re.compile(r"\b(?:ContainerStore|ContainerReader|scan_container)\b|\brocksdb::")


def section(tree):
    found = SECTION.search((tree.root / DESIGN).read_text(encoding="utf-8"))
    return found.group(1) if found else ""


def table(text, *header):
    """The rows of the table with this header, as lists of cells. None: there is no such table."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] if line.lstrip().startswith("|") else []
        if not cells:
            if inside:
                return rows
        elif inside:
            if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                rows.append(cells)
        elif cells == list(header):
            inside = True
    return rows if inside else None


def named(cell):
    return [name.rstrip("/").removeprefix("src/") for name in BACKTICKS.findall(cell)]


def rooms(tree):
    """{room: set of rooms that it may include} by the table; findings about the table itself."""
    rows = table(section(tree), "Room", "What lives there", "May include")
    if rows is None:
        return {}, [f'{DESIGN}: no table "| Room | What lives there | May include |" in the section "Layers"']
    allowed, findings = {}, []
    for row in rows:
        if len(row) != 3 or len(named(row[0])) != 1:
            findings.append(f"{DESIGN}: a row of the rooms needs one room in backticks and three cells: {row}")
            continue
        allowed[named(row[0])[0]] = set(named(row[2]))
    return allowed, findings


def check_rooms(tree):
    """Each folder with sources has a row, each row has a folder, and each include is one that the table allows."""
    allowed, findings = rooms(tree)
    if not allowed:
        return findings
    present = {source.room for source in tree.below("src", "tools")}
    findings += [f"{DESIGN}: no row for the room {room}" for room in sorted(present - allowed.keys())]
    findings += [f"{DESIGN}: the room {room} does not exist" for room in sorted(allowed.keys() - present)]
    used = set()
    for room, others in allowed.items():
        findings += [f"{DESIGN}: {room} may include {other}, which is no room" for other in sorted(others - allowed.keys())]
    for source in tree.below("src", "tools"):
        for line, target in tree.project_includes(source):
            if target.room == source.room:
                continue
            used.add((source.room, target.room))
            if target.room not in allowed.get(source.room, ()):
                findings.append(f"{source.path}:{line}: {source.room} may not include {target.room} ({target.path})")
    for room, others in allowed.items():
        findings += [f"{DESIGN}: nothing in {room} includes {other}: take it out of the row"
                     for other in sorted(others & present) if (room, other) not in used and room in present]
    return findings


def check_folder_cycles(tree):
    edges = {}
    for source in tree.below("src", "tools"):
        for _, target in tree.project_includes(source):
            if target.folder != source.folder:
                edges.setdefault(source.folder, set()).add(target.folder)
    return [f"folders include each other in a circle: {', '.join(part)}" for part in cycles(edges)]


def check_file_cycles(tree):
    edges = {}
    for source in tree.sources.values():
        for _, target in tree.project_includes(source):
            if target.unit != source.unit:
                edges.setdefault(source.unit, set()).add(target.unit)
    return [f"files include each other in a circle: {', '.join(part)}" for part in cycles(edges)]


def check_resolved(tree):
    """A quoted include names a file of the project."""
    return [f'{source.path}:{line}: "{name}" is no file of the project: a library is included with <>'
            for source in tree.sources.values() for line, quoted, name in source.includes()
            if quoted and not tree.target(source, name)]


def check_libraries(tree):
    """Headers of libraries are included where the docs say."""
    rows = table(section(tree), "Header", "Rooms")
    if rows is None:
        return [f'{DESIGN}: no table "| Header | Rooms |" in the section "Layers"']
    findings = []
    libraries = {header: set(named(row[1])) for row in rows for header in BACKTICKS.findall(row[0])}
    unused = {(header, room) for header, where in libraries.items() for room in where}
    for source in tree.below("src", "tools"):
        for line, _, name in source.includes():
            for header, where in libraries.items():
                if name != header and not (header.endswith("/") and name.startswith(header)):
                    continue
                unused.discard((header, source.room))
                if source.room not in where:
                    findings.append(f"{source.path}:{line}: {source.room} may not include <{name}>")
    findings += [f"{DESIGN}: nothing in {room} includes <{header}>: take it out of the row" for header, room in sorted(unused)]
    return findings


def check_backing(tree):
    """Nothing that belongs to a volume opens or changes a file but by base/backing.h."""
    rows = table(section(tree), "File", "Why it calls the system itself")
    if rows is None:
        return [f'{DESIGN}: no table "| File | Why it calls the system itself |" in the section "Layers"']
    excepted = {"src/" + name for row in rows for name in named(row[0])}
    findings = [f"{DESIGN}: {path} does not exist" for path in sorted(excepted - tree.sources.keys())]
    for source in tree.below("src"):
        if source.room.split("/")[0] not in BEHIND_BACKING:
            continue
        calls = list(SYSTEM_CALL.finditer(source.code))
        if source.path not in excepted:
            findings += [f"{source.path}:{source.line_of(call.start())}: \"{call.group(0)}\" goes past base/backing.h" for call in calls]
        elif not calls:
            findings.append(f"{DESIGN}: {source.path} calls nothing of the system: take its row out")
    return findings


def check_containers(tree):
    """fs touches neither RocksDB nor a container file, but for what the table lets include store/containers."""
    allowed, _ = rooms(tree)
    findings = []
    for source in tree.below("src"):
        if source.room.split("/")[0] not in ("fs", "mount") or "store/containers" in allowed.get(source.room, ()):
            continue
        findings += [f"{source.path}:{source.line_of(use.start())}: {source.room} may not use {use.group(0)}"
                     for use in CONTAINER_TYPE.finditer(source.code)]
    return findings


RULES = {
    "rooms": check_rooms,
    "folder-cycles": check_folder_cycles,
    "file-cycles": check_file_cycles,
    "includes-resolve": check_resolved,
    "libraries": check_libraries,
    "backing": check_backing,
    "containers": check_containers,
}
