"""tests/format_reader.py, which knows docs/format.md alone, reads the golden volumes. Prints PASS or FAIL for each check."""
import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
READER = HERE / "format_reader.py"
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
    return folder / "volume"


def check_golden(reader, manifest_file, folder):
    name = manifest_file.stem
    manifest = [json.loads(line) for line in manifest_file.read_text().splitlines()]
    contents = {entry["path"]: entry.pop("sha256") for entry in manifest if "sha256" in entry}
    path = unpack(manifest_file.with_suffix(".tar.gz"), folder)

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
    for manifest in manifests:
        with tempfile.TemporaryDirectory(prefix="dedupfs-test-") as folder:
            check_golden(reader, manifest, pathlib.Path(folder))
    with tempfile.TemporaryDirectory(prefix="dedupfs-test-") as folder:
        check_damage(HERE / "golden" / "volumes" / "v1-none.tar.gz", pathlib.Path(folder))
    sys.exit(bool(FAILURES))


if __name__ == "__main__":
    main()
