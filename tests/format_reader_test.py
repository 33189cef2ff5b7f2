"""tests/format_reader.py, which knows docs/format.md alone, reads the golden volumes. Prints PASS or FAIL for each check."""
import hashlib
import importlib.util
import json
import pathlib
import stat
import subprocess
import sys
import tarfile
import tempfile

import sealed_reader

HERE = pathlib.Path(__file__).resolve().parent
READER = HERE / "format_reader.py"
GOLDEN_PASSPHRASE = b"a passphrase for everybody"
FAILURES = []


def check(name, passed, detail=""):
    print(f"PASS {name}" if passed else f"FAIL {name}: {detail}", flush=True)
    if not passed:
        FAILURES.append(name)


def reader_module():
    spec = importlib.util.spec_from_file_location("format_reader", READER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_reader(*arguments):
    return subprocess.run([sys.executable, READER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    volume = folder / "volume"
    if "encryption" not in json.loads((volume / "superblock.json").read_text())["incompatible_features"]:
        return volume
    sealed_reader.make_plain(volume, folder / "plain", GOLDEN_PASSPHRASE)
    return folder / "plain"


def check_golden(reader, manifest_file, folder):
    name = manifest_file.stem
    manifest = [json.loads(line) for line in manifest_file.read_text().splitlines()]
    contents = {entry["path"]: entry.pop("sha256") for entry in manifest if "sha256" in entry}
    path = unpack(manifest_file.with_suffix(".tar.gz"), folder)

    for snapshot in manifest_file.parent.glob(f"{name}.*.snapshot"):
        check_snapshot(reader, path, snapshot.stem.removeprefix(f"{name}."), snapshot)

    listed = [json.loads(line) for line in run_reader(path, "--list").stdout.splitlines()]
    different = [entry["path"] for entry in manifest if entry not in listed] + [
        entry["path"] for entry in listed if entry not in manifest]
    check(f"{name}: --list is the manifest", not different, different)

    volume = reader.Volume(path)
    for place, inode in volume.namespace.paths():
        place = reader.printable(place)
        if place not in contents:
            continue
        digest = hashlib.sha256()
        for piece in volume.content(inode):
            digest.update(piece)
        check(f"{name}: content of {place}", digest.hexdigest() == contents.pop(place), "differs")
    check(f"{name}: every file was found", not contents, contents)
    return volume


def check_snapshot(reader, path, name, manifest_file):
    manifest = [json.loads(line) for line in manifest_file.read_text().splitlines()]
    digests = {entry["path"]: entry.pop("sha256", None) for entry in manifest}
    listed = [json.loads(line) for line in run_reader(path, "--list", name).stdout.splitlines()]
    check(f"{manifest_file.stem}: --list is the manifest", sorted(map(repr, listed)) == sorted(map(repr, manifest)), listed)
    volume = reader.Volume(path, name.encode())
    found = {reader.printable(place): hashlib.sha256(b"".join(volume.content(inode))).hexdigest() if stat.S_ISREG(inode.mode) else None
             for place, inode in volume.namespace.paths()}  # fmt: skip
    check(f"{manifest_file.stem}: content", found == digests, found)


def check_checkpoint(reader, manifest_file, folder):
    """Its names are those of the index, as of the last mount that changed something."""
    path = unpack(manifest_file.with_suffix(".tar.gz"), folder)
    volume = reader.Volume(path)
    checkpoint = reader.Checkpoint(path, volume.superblock["uuid"])
    expected = list(volume.list())
    volume.namespace = reader.Namespace(checkpoint)
    check(f"{manifest_file.stem}: the checkpoint has the same names", list(volume.list()) == expected)
    contents = [b"".join(volume.content(inode)) for _, inode in volume.namespace.paths() if stat.S_ISREG(inode.mode)]
    check(f"{manifest_file.stem}: and the recipes", any(contents))


def check_vcdiff(reader):
    """What the goldens may not hold: RFC 3284 says more than any one encoder writes."""
    header = b"\xd6\xc3\xc4\0\0"
    sections = b"a" + b"bc", b"\0\x08" + b"\x03" + b"\x14", b"\x08"  # run of 8, add of 2, copy of 4 that reads what it writes
    body = b"\x0e\0" + bytes(map(len, sections)) + b"".join(sections)
    window = bytes([0, len(body)]) + body

    def made(delta, source=b"source"):
        try:
            return reader.VcdiffDecoder(delta, "delta").made_from(source)
        except reader.Damaged as damage:
            return str(damage)

    check("VCDIFF: run, add and a copy of what is being made", made(header + window) == b"a" * 8 + b"bcbcbc", made(header + window))
    check("VCDIFF: two windows", made(header + window + window) == 2 * (b"a" * 8 + b"bcbcbc"))
    for name, delta in (("another format", b"\xd6\xc3\xc4S\0" + window), ("extensions", header[:4] + b"\1" + window),
                        ("cut off", header + window[:-1]), ("too much is made", header + window.replace(b"\x0e\0", b"\x0d\0")),
                        ("too little is made", header + window.replace(b"\x0e\0", b"\x0f\0")),
                        ("a copy from nowhere", header + window[:-1] + b"\x0a"),
                        ("beyond the source", header + b"\1\x07\0" + window[1:])):
        check(f"VCDIFF: refused: {name}", isinstance(made(delta), str), made(delta))


def check_deltas(volumes):
    """The goldens have what docs/format.md says of deltas."""
    chunks = [volume.store.stored_chunk(number) for volume in volumes for number in volume.store.runs]
    deltas = [chunk for chunk in chunks if chunk.depth > 0]
    follow = [all(b == a + 1 for a, b in zip(chunk.sources, chunk.sources[1:])) for chunk in deltas]
    check("there are deltas of deltas", max(chunk.depth for chunk in deltas) >= 3)
    check("sources that follow each other, and others", set(follow) == {True, False})
    check("of one chunk and of several", {1, 5} <= {len(chunk.sources) for chunk in deltas})


def check_damage(archive, folder):
    """The reader is a witness only if it would notice."""
    path = unpack(archive, folder)
    expected = run_reader(path, "/text")
    check("a file is written to standard output", expected.returncode == 0 and expected.stdout.startswith(b"a line"))
    missing = run_reader(path, "/no/such/file")
    check("a path that is not there is an error", missing.returncode == 1 and b"no such file" in missing.stderr)

    (path / "superblock.json").write_bytes(b"{}")
    check("the second copy of the superblock does", run_reader(path, "/text").stdout == expected.stdout)

    container = min((path / "containers").iterdir())
    data = bytearray(container.read_bytes())
    data[len(data) // 2] ^= 1
    container.write_bytes(data)
    damaged = run_reader(path, "/text")
    check("a flipped bit in a container is noticed", damaged.returncode == 1 and b"checksum" in damaged.stderr, damaged.stderr)


def main():
    reader = reader_module()
    manifests = sorted((HERE / "golden" / "volumes").glob("*.manifest"))
    check("there are golden volumes", len(manifests) >= 3, manifests)
    check_vcdiff(reader)
    with tempfile.TemporaryDirectory(prefix="dedupfs-test-") as folder:
        volumes = [check_golden(reader, manifest, pathlib.Path(folder) / manifest.stem) for manifest in manifests]
        check_deltas(volumes)
        samples = [sample for volume in volumes for sample in volume.history.values()]
        check("a volume has its history", any(counts and counts[0] == 2 and counts[1] == 43000 for _, _, counts, _ in samples), samples)
    with tempfile.TemporaryDirectory(prefix="dedupfs-test-") as folder:
        check_checkpoint(reader, HERE / "golden" / "volumes" / "v1-healed.manifest", pathlib.Path(folder))
    with tempfile.TemporaryDirectory(prefix="dedupfs-test-") as folder:
        check_damage(HERE / "golden" / "volumes" / "v1-none.tar.gz", pathlib.Path(folder))
    sys.exit(bool(FAILURES))


if __name__ == "__main__":
    main()
