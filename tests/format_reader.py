#!/usr/bin/python3
"""Reads a dedupfs volume that is not mounted, by docs/format.md alone: no line of it comes from src/.

Usage: format_reader.py VOLUME PATH [SNAPSHOT]      writes the content of a file to standard output
       format_reader.py VOLUME --list [SNAPSHOT]    prints one JSON object a line for each path

It is proof that the format is what the document says, and a last resort for data. Everything that has a checksum is
verified; the first thing that is wrong ends it with exit status 1. In what it prints, bytes of names and targets that are
not printable ASCII stand as %XX.

Needs ldb of RocksDB (package rocksdb-tools), python3-xxhash and python3-zstandard. Keeps the whole namespace in memory.
"""
import hashlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import urllib.parse

import xxhash
import zstandard

MOST_PAYLOAD_BYTES = 4 << 20
MOST_DIRECTORY_BYTES = 1 << 20
MOST_CHUNK_BYTES = 4 << 20
MOST_DELTA_CHUNK_BYTES = 1 << 20
MOST_SOURCES = 8
MOST_SOURCE_BYTES = 8 << 20
DEEPEST_DELTA = 16
MOST_U64 = (1 << 64) - 1
ROOT = 1


class Damaged(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Damaged(what)


def xxh3(data):
    return xxhash.xxh3_64_intdigest(data)


def printable(name):
    return urllib.parse.quote_from_bytes(name, safe=" !\"#$&'()*+,/:;<=>?@[\\]^`{|}")


class Decoder:
    """The types of "Conventions", read one after another."""

    def __init__(self, data, what):
        self.data, self.what, self.at = data, what, 0

    def bytes(self, count):
        require(count <= len(self.data) - self.at, f"{self.what}: cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def rest(self):
        return self.bytes(len(self.data) - self.at)

    def number(self, count):
        return int.from_bytes(self.bytes(count), "little")

    def be64(self):
        return int.from_bytes(self.bytes(8), "big")

    def varint(self):
        value = 0
        for position in range(10):
            byte = self.number(1)
            value |= (byte & 0x7F) << (7 * position)
            if byte < 0x80:
                require(value <= MOST_U64, f"{self.what}: a number is too large")
                return value
        raise Damaged(f"{self.what}: a number is too long")

    def svarint(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def version(self):
        require(self.number(1) == 1, f"{self.what}: unknown version")

    def at_end(self):
        return self.at == len(self.data)

    def end(self):
        require(self.at_end(), f"{self.what}: bytes are left")


def read_superblock(volume):
    for name in ("superblock.json", "superblock.copy.json"):
        try:
            text = (volume / name).read_bytes()
        except FileNotFoundError:
            continue
        frame = b'"checksum": "%016x"\n}\n' % xxh3(text[:-33])
        if len(text) <= 65536 and text[-33:] == frame:
            break
    else:
        raise Damaged(f"{volume}: no copy of the superblock is whole")
    superblock = json.loads(text)
    require(superblock["magic"] == "dedupfs volume", "not a superblock")
    require(superblock["format_version"] == 1, f"format version {superblock['format_version']} is not known")
    require(set(superblock["incompatible_features"]) <= {"delta", "quotas", "snapshot_uuids"}, "there are features that are not known")
    require(superblock["fingerprint"] == "sha256", "fingerprint is not known")
    return superblock


class Index:
    """The column families, each read whole, out of a copy: RocksDB may write to what it opens."""

    def __init__(self, folder):
        self.temporary = tempfile.TemporaryDirectory(prefix="dedupfs-index-")
        self.folder = pathlib.Path(self.temporary.name) / "index"
        shutil.copytree(folder, self.folder)
        self.families = {}

    def family(self, name):
        """Pairs of key and value in the order of keys."""
        if name not in self.families:
            command = ["ldb", f"--db={self.folder}", f"--column_family={name}", "--hex", "scan"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            require(done.returncode == 0, f"ldb: {(done.stdout + done.stderr).decode(errors='replace').strip()}")
            pairs = []
            for line in done.stdout.decode().splitlines():
                # Versions of RocksDB differ in what stands between them.
                key, arrow, value = line.partition(" ==> " if " ==> " in line else " : ")
                require(arrow and key.startswith("0x") and value.startswith("0x"), f"ldb said: {line}")
                pairs.append((bytes.fromhex(key[2:]), bytes.fromhex(value[2:])))
            self.families[name] = pairs
        return self.families[name]


class Checkpoint:
    """The families that cannot be rebuilt from containers, as of the newest checkpoint: "Checkpoint"."""

    NAMES = ("", "inodes", "dirents", "xattrs", "recipes", "orphans", "counters", "snapshots", "before_images")

    def __init__(self, volume, uuid):
        files = sorted((volume / "checkpoints").glob("*.checkpoint"))
        require(files, f"{volume} has no checkpoint")
        self.families = {name: [] for name in self.NAMES[1:]}
        data = Decoder(files[-1].read_bytes(), files[-1].name)
        header = Decoder(data.bytes(64), f"header of {data.what}")
        require(header.bytes(8) == b"DDPCKPT1" and header.number(2) == 1, f"{data.what}: not a checkpoint that we know")
        header.bytes(2)
        require(f"{header.number(4):010}.checkpoint" == data.what, f"{data.what}: its number is another")
        require(header.bytes(16).hex() == uuid.replace("-", ""), f"{data.what} belongs to another volume")
        self.created = header.number(8)
        header.bytes(16)
        require(header.number(8) == xxh3(header.data[:56]), f"{data.what}: checksum of the header")
        blocks = 0
        while self.read_block(data, blocks):
            blocks += 1
        data.end()

    def read_block(self, data, blocks):
        header = Decoder(data.bytes(32), f"block {blocks} of {data.what}")
        tag, encoding = header.number(1), header.number(1)
        header.bytes(2)
        raw_length, stored_length = header.number(4), header.number(4)
        header.bytes(4)
        checksum = header.number(8)
        require(header.number(8) == xxh3(header.data[:24]), f"{header.what}: checksum of its header")
        if tag == 0:
            require(checksum == blocks, f"{header.what}: another number of blocks came before the end")
            return False
        stored = data.bytes(stored_length)
        require(checksum == xxh3(stored), f"{header.what}: checksum")
        raw = zstandard.ZstdDecompressor().decompress(stored, raw_length) if encoding == 1 else stored
        require(len(raw) == raw_length <= 16 << 20, f"{header.what}: length")
        records = Decoder(raw, header.what)
        while not records.at_end():
            self.families[self.NAMES[tag]].append((records.bytes(records.varint()), records.bytes(records.varint())))
        return True

    def family(self, name):
        return self.families[name]


class Snapshot:
    """The families as a snapshot has them: "Snapshots"."""

    NAMES = ("", "inodes", "dirents", "cookies", "xattrs", "recipes", "orphans")

    def __init__(self, index, name):
        self.index = index
        self.number, self.end_of_inodes = self.find(name)
        self.images = {}  # family and key -> number and value of the image that counts
        for key, value in index.family("before_images"):
            family, record, number = self.parse(key)
            if number >= self.number:
                self.images.setdefault((family, record), value)  # the least number comes first

    def find(self, name):
        for key, value in self.index.family("snapshots"):
            record = Decoder(value, f"snapshot {Decoder(key, 'key of a snapshot').be64()}")
            record.version()
            flags = record.number(1)
            deleted = flags & 1
            if flags & 2:
                record.bytes(16)
            record.svarint()
            end_of_inodes = record.varint()
            record.varint()
            if record.rest() == name and not deleted:
                return Decoder(key, "key of a snapshot").be64(), end_of_inodes
        raise Damaged(f"there is no snapshot {printable(name)}")

    def parse(self, key):
        rest = key[9:-6]
        require(key[-6:-4] == b"\0\1" and rest.count(b"\0") == rest.count(b"\0\xff"), f"key of a before-image: {key.hex()}")
        return self.NAMES[key[0]], key[1:9] + rest.replace(b"\0\xff", b"\0"), int.from_bytes(key[-4:], "big")

    def family(self, name):
        records = dict(self.index.family(name))
        if name not in self.NAMES:
            return list(records.items())
        for (family, key), image in self.images.items():
            if family == name and image[0] == 0:
                records.pop(key, None)
            elif family == name:
                records[key] = image[1:]
        return sorted((key, value) for key, value in records.items() if int.from_bytes(key[:8], "big") < self.end_of_inodes)


class VcdiffDecoder(Decoder):
    """RFC 3284: its numbers (section 2), and what a delta makes (sections 4 and 5)."""

    SOURCE_WINDOW = 1
    NEAR, SAME = 4, 3  # sizes of the address cache

    def integer(self):
        """Base 128, the most significant digit first."""
        value = 0
        while True:
            byte = self.number(1)
            value = value << 7 | byte & 0x7F
            require(value <= MOST_U64, f"{self.what}: a number is too large")
            if byte < 0x80:
                return value

    def section(self, length):
        return VcdiffDecoder(self.bytes(length), self.what)

    def made_from(self, source):
        require(self.bytes(5) == b"\xd6\xc3\xc4\0\0", f"{self.what}: not a VCDIFF stream, or one with extensions")
        target = b""
        while not self.at_end():
            target += self.window(source)
        return target

    def window(self, source):
        indicator = self.number(1)
        require(indicator in (0, self.SOURCE_WINDOW), f"{self.what}: unknown kind of window")
        segment = b""
        if indicator == self.SOURCE_WINDOW:
            length, position = self.integer(), self.integer()
            require(position + length <= len(source), f"{self.what}: reaches beyond its source")
            segment = source[position : position + length]
        window = self.section(self.integer())
        target_length = window.integer()
        require(window.number(1) == 0, f"{self.what}: compressed sections")
        lengths = [window.integer() for _ in range(3)]
        data, instructions, addresses = (window.section(length) for length in lengths)
        window.end()

        made = bytearray(segment)  # copies reach over the source and what was made already
        near, next_slot, same = [0] * self.NEAR, 0, [0] * (self.SAME * 256)
        while not instructions.at_end():
            for kind, size, mode in CODE_TABLE[instructions.number(1)]:
                size = size or instructions.integer()
                require(len(made) - len(segment) + size <= target_length, f"{self.what}: makes too much")
                if kind == "add":
                    made += data.bytes(size)
                elif kind == "run":
                    made += data.bytes(1) * size
                else:
                    here = len(made)
                    if mode == 0:
                        address = addresses.integer()
                    elif mode == 1:
                        address = here - addresses.integer()
                    elif mode < 2 + self.NEAR:
                        address = near[mode - 2] + addresses.integer()
                    else:
                        address = same[(mode - 2 - self.NEAR) * 256 + addresses.number(1)]
                    require(0 <= address < here, f"{self.what}: copies from nowhere")
                    near[next_slot], next_slot = address, (next_slot + 1) % self.NEAR
                    same[address % len(same)] = address
                    for at in range(address, address + size):  # one by one: it may copy what it makes
                        made.append(made[at])
        require(len(made) - len(segment) == target_length, f"{self.what}: makes too little")
        data.end()
        addresses.end()
        return bytes(made[len(segment) :])


def code_table():
    """The default table of RFC 3284, section 5.6: what each byte of the instructions does, as (kind, size, mode). Size 0: it
    follows."""
    table = [[("run", 0, 0)]]
    table += [[("add", size, 0)] for size in range(18)]
    table += [[("copy", size, mode)] for mode in range(9) for size in (0, *range(4, 19))]
    table += [[("add", added, 0), ("copy", copied, mode)]
              for mode in range(6) for added in range(1, 5) for copied in range(4, 7)]
    table += [[("add", added, 0), ("copy", 4, mode)] for mode in range(6, 9) for added in range(1, 5)]
    table += [[("copy", 4, mode), ("add", 1, 0)] for mode in range(9)]
    return table


CODE_TABLE = code_table()


class StoredChunk:
    """An entry of a region's directory, with its part of the payload."""

    def __init__(self, number, directory, payload):
        self.number = number
        self.what = f"chunk {number}"
        self.fingerprint = directory.bytes(32)
        self.raw_length = directory.varint()
        require(1 <= self.raw_length <= MOST_CHUNK_BYTES, f"{self.what}: length")
        encoding = directory.number(1)
        require(encoding in (0, 1), f"{self.what}: unknown encoding")
        self.sources, self.depth = [], 0
        payload_length = self.raw_length
        if encoding == 1:
            self.sources, self.depth = read_sources(directory, number), directory.number(1)
            self.checksum, payload_length = directory.number(4), directory.varint()
            require(1 <= self.depth <= DEEPEST_DELTA, f"{self.what}: depth")
            require(self.raw_length <= MOST_DELTA_CHUNK_BYTES, f"{self.what}: length")
            require(1 <= payload_length <= MOST_CHUNK_BYTES, f"{self.what}: length of the delta")
        self.payload = payload.bytes(payload_length)


def read_sources(decoder, number):
    """ "Delta sources" of a chunk."""
    count, consecutive = divmod(decoder.varint(), 2)
    require(1 <= count <= MOST_SOURCES, f"{decoder.what}: sources of chunk {number}")
    sources = [(number - decoder.svarint()) & MOST_U64]
    while len(sources) < count:
        sources.append((sources[-1] + (1 if consecutive else decoder.svarint())) & MOST_U64)
    require(number not in sources, f"{decoder.what}: chunk {number} is made from itself")
    return sources


class Store:
    """Chunks by their ids: "Chunk index", "Container", "Region"."""

    MOST_REGIONS_IN_MEMORY = 64

    def __init__(self, volume, index, superblock):
        self.containers = volume / "containers"
        self.uuid = bytes.fromhex(superblock["uuid"].replace("-", ""))
        self.fingerprints = dict(index.family("fingerprints"))
        self.runs = {}  # chunk id -> container, offset, length of the region; raw length, delta length, sources of the chunk
        for key, value in index.family("chunks"):
            self.read_run(key, value)
        self.regions = {}  # in memory: place -> chunk id -> chunk

    def read_run(self, key, value):
        first = Decoder(key, "key of a run").be64()
        run = Decoder(value, f"run of chunk {first}")
        place = tuple(run.varint() for _ in range(3))
        region_payload_length = run.varint()
        lengths = [run.varint() for _ in range(run.varint())]
        deltas = {}  # by position
        position = -1
        while not run.at_end():
            position += run.varint() + 1
            sources = read_sources(run, first + position)
            deltas[position] = (run.varint(), sources)
        require(position < len(lengths), f"run of chunk {first}: it has fewer chunks than deltas")
        payload_length = sum(deltas[i][0] if i in deltas else length for i, length in enumerate(lengths))
        require(lengths and payload_length <= region_payload_length, f"run of chunk {first}: its lengths do not add up")
        for i, raw_length in enumerate(lengths):
            require(first + i not in self.runs, f"chunk {first + i} lies in two runs")
            self.runs[first + i] = (place, raw_length, *deltas.get(i, (raw_length, [])))

    def stored_chunk(self, number):
        require(number in self.runs, f"chunk {number} is not in the index")
        place, raw_length, payload_length, sources = self.runs[number]
        if place not in self.regions:
            if len(self.regions) == self.MOST_REGIONS_IN_MEMORY:
                self.regions.clear()
            self.regions[place] = self.read_region(*place)
        require(number in self.regions[place], f"chunk {number} is not where the index says")
        chunk = self.regions[place][number]
        require((chunk.raw_length, len(chunk.payload), chunk.sources) == (raw_length, payload_length, sources),
                f"chunk {number} is not what the index says")
        return chunk

    def chunk(self, number):
        return self.content_of(self.stored_chunk(number))

    def content_of(self, chunk):
        content = chunk.payload
        if chunk.depth > 0:
            sources = [self.stored_chunk(number) for number in chunk.sources]
            for source in sources:
                require(source.depth < chunk.depth, f"{chunk.what} is made from chunk {source.number}, which is too deep")
            source = b"".join(map(self.content_of, sources))
            require(len(source) <= MOST_SOURCE_BYTES, f"{chunk.what}: its sources are too long")
            content = VcdiffDecoder(chunk.payload, f"delta of {chunk.what}").made_from(source)
            require(len(content) == chunk.raw_length, f"{chunk.what}: its delta makes another length")
            require(xxh3(content) & 0xFFFFFFFF == chunk.checksum, f"{chunk.what}: its delta makes other bytes")
        require(hashlib.sha256(content).digest() == chunk.fingerprint, f"{chunk.what} does not match its fingerprint")
        return content

    def read_region(self, container, offset, length):
        name = f"{container:010}.container"
        with open(self.containers / name, "rb") as file:
            self.check_container_header(Decoder(file.read(64), name), container)
            file.seek(offset)
            data = file.read(length)
        what = f"{name} at {offset}"
        header = Decoder(data, what)
        require(header.bytes(8) == b"DDPCRGN1" and header.number(2) == 1, f"{what}: no region")
        encoding, _ = header.number(1), header.number(1)
        entries, directory_length, payload_length, stored_length, _ = (header.number(4) for _ in range(5))
        directory_sum, payload_sum, _, header_sum = (header.number(8) for _ in range(4))
        require(header_sum == xxh3(data[:56]), f"{what}: checksum of the header")
        require(entries >= 1 and directory_length <= MOST_DIRECTORY_BYTES, f"{what}: sizes")
        require(stored_length <= payload_length <= MOST_PAYLOAD_BYTES, f"{what}: sizes")
        require(length == 64 + directory_length + stored_length, f"{what}: length in the index")
        directory, payload = header.bytes(directory_length), header.bytes(stored_length)
        require(directory_sum == xxh3(directory), f"{what}: checksum of the directory")
        require(payload_sum == xxh3(payload), f"{what}: checksum of the payload")
        require(encoding in (0, 1), f"{what}: unknown encoding")
        if encoding == 1:
            require(zstandard.frame_content_size(payload) == payload_length, f"{what}: size in the zstd frame")
            payload = zstandard.ZstdDecompressor().decompress(payload)
        require(len(payload) == payload_length, f"{what}: length of the payload")
        return self.read_chunks(Decoder(directory, f"directory of {what}"), entries, Decoder(payload, what))

    def check_container_header(self, header, container):
        data = header.data
        if len(data) != 64 or data[:8] != b"DDPCNTR1" or int.from_bytes(data[56:], "little") != xxh3(data[:56]):
            return  # damaged, which is no reason to give up the regions behind it
        header.bytes(12)
        require(header.number(4) == container, f"{header.what}: it bears another number")
        require(header.bytes(16) == self.uuid, f"{header.what}: it belongs to another volume")
        require(header.bytes(1)[0] in (0, 1), f"{header.what}: unknown tier")

    def read_chunks(self, directory, entries, payload):
        chunks = {}
        number = 0
        for _ in range(entries):
            number = (number + directory.svarint()) & MOST_U64
            chunk = StoredChunk(number, directory, payload)
            if chunk.fingerprint in self.fingerprints:  # it was not erased
                known = Decoder(self.fingerprints[chunk.fingerprint], f"fingerprint of chunk {number}")
                require(known.varint() != 0, f"the fingerprint of chunk {number} leads nowhere")
                known.end()
            require(number not in chunks, f"chunk {number} is in {directory.what} twice")
            chunks[number] = chunk
        directory.end()
        payload.end()
        return chunks


class Inode:
    """A record of family `inodes`."""

    def __init__(self, number, value):
        record = Decoder(value, f"inode {number}")
        record.version()
        self.number = number
        flags = record.number(1)
        require(flags <= 3, f"inode {number}: unknown flags")
        self.may_have_xattrs = flags & 1 == 1
        self.quota = record.varint() if flags & 2 else 0
        require((self.quota >= 1) == (flags & 2 == 2), f"inode {number}: its quota is impossible")
        self.mode, self.owner, self.group, self.links = (record.varint() for _ in range(4))
        self.birth = self.read_time(record, 0)
        self.atime, self.mtime, self.ctime = (self.read_time(record, self.birth[0]) for _ in range(3))
        self.target = None
        self.device = None
        self.size = self.data_bytes = 0
        kind = stat.S_IFMT(self.mode)
        if kind == stat.S_IFREG:
            self.size, self.data_bytes = record.varint(), record.varint()
        elif kind == stat.S_IFDIR:
            self.size, self.parent, self.next_cookie = record.varint(), record.varint(), record.varint()
        elif kind == stat.S_IFLNK:
            self.target = record.bytes(record.varint())
            self.size = len(self.target)
        elif kind in (stat.S_IFCHR, stat.S_IFBLK):
            self.device = record.varint()
        record.end()

    @staticmethod
    def read_time(record, relative_to):
        return record.svarint() + relative_to, record.varint()


class Namespace:
    """Names, inodes, attributes and recipes: "Metadata records" and "Recipes"."""

    def __init__(self, index):
        self.inodes = {}
        for key, value in index.family("inodes"):
            number = Decoder(key, "key of an inode").be64()
            self.inodes[number] = Inode(number, value)
        self.dirents = {}  # inode of the directory -> name -> inode
        for key, value in index.family("dirents"):
            name = Decoder(key, "key of a name")
            parent = name.be64()
            entry = Decoder(value, f"name {name.data[8:]} in {parent}")
            entry.version()
            kind, number, cookie = entry.number(1), entry.varint(), entry.varint()
            entry.end()
            require(number in self.inodes, f"{entry.what} leads to inode {number}, which is missing")
            require(self.inodes[number].mode >> 12 == kind, f"{entry.what} is of another type than its inode")
            require(3 <= cookie < self.inodes[parent].next_cookie, f"{entry.what} has an impossible cookie")
            self.dirents.setdefault(parent, {})[name.rest()] = number
        self.xattrs = {}
        for key, value in index.family("xattrs"):
            name = Decoder(key, "key of an attribute")
            number = name.be64()
            require(self.inodes[number].may_have_xattrs, f"inode {number} has attributes that it denies")
            self.xattrs.setdefault(number, {})[printable(name.rest())] = value.hex()
        self.segments = {}  # inode -> offset -> value
        for key, value in index.family("recipes"):
            place = Decoder(key, "key of a segment")
            self.segments.setdefault(place.be64(), {})[place.be64()] = value

    def paths(self, parent=ROOT, prefix=b"/"):
        """All paths with their inodes, each directory before what is in it."""
        if parent not in self.inodes:
            return  # a volume that was never mounted has no root
        yield prefix, self.inodes[parent]
        for name, number in sorted(self.dirents.get(parent, {}).items()):
            path = os.path.join(prefix, name)
            if stat.S_ISDIR(self.inodes[number].mode):
                require(self.inodes[number].parent == parent, f"{path}: its '..' is another folder")
                yield from self.paths(number, path)
            else:
                yield path, self.inodes[number]

    def find(self, path):
        require(ROOT in self.inodes, "the volume was never mounted, there is nothing in it")
        inode = self.inodes[ROOT]
        for name in filter(None, path.split(b"/")):
            number = self.dirents.get(inode.number, {}).get(name)
            require(number is not None, f"{printable(path)}: no such file")
            inode = self.inodes[number]
        return inode

    def content(self, inode, store):
        """The content of a file, in pieces."""
        require(stat.S_ISREG(inode.mode), f"inode {inode.number} is not a file")
        at = data_bytes = 0
        for offset, value in sorted(self.segments.get(inode.number, {}).items()):
            require(offset == at, f"recipe of inode {inode.number}: a gap, or an overlap, before {offset}")
            segment = Decoder(value, f"recipe of inode {inode.number} at {offset}")
            segment.version()
            entries = chunk = 0
            while not segment.at_end():
                head = segment.varint()
                if head & 1:
                    length = head >> 1
                    yield from zeros(length)
                else:
                    length = head >> 2
                    if head & 2:
                        piece = segment.bytes(length)
                    else:
                        chunk = (chunk + segment.svarint() + 1) & MOST_U64
                        piece = store.chunk(chunk)
                    require(len(piece) == length, f"{segment.what}: a length is wrong")
                    data_bytes += length
                    yield piece
                require(length >= 1, f"{segment.what}: an empty entry")
                entries += 1
                at += length
            require(1 <= entries <= 1024, f"{segment.what}: {entries} entries")
        require(at <= inode.size, f"inode {inode.number}: its recipe is longer than the file")
        require(data_bytes == inode.data_bytes, f"inode {inode.number}: {data_bytes} bytes of data")
        yield from zeros(inode.size - at)


def zeros(count):
    for start in range(0, count, 1 << 20):
        yield bytes(min(1 << 20, count - start))


def read_holds(counters):
    """Number of a snapshot -> whether it is held until somebody releases it, date, time of the volume."""
    holds = {}
    if b"snapshot_holds" in counters:
        record = Decoder(counters[b"snapshot_holds"], "held snapshots")
        record.version()
        while not record.at_end():
            number, flags = record.varint(), record.number(1)
            require(1 <= number < 2**20 and number > max(holds, default=0), "held snapshots: a number is out of order")
            require(flags <= 1, "held snapshots: unknown flags")
            holds[number] = (flags == 1, record.svarint(), record.varint())
    if b"volume_time" in counters:
        record = Decoder(counters[b"volume_time"], "time of the volume")
        record.version()
        require(record.number(8) <= 2**40, "time of the volume: out of range")
        record.bytes(16)
        record.number(8)
        record.end()
    return holds


def read_quotas(counters, namespace):
    """Number of a quota -> inode of its directory, limits, sums. The sums are those of the inodes."""
    quotas = {}
    if b"quotas" not in counters:
        return quotas
    record = Decoder(counters[b"quotas"], "quotas")
    record.version()
    end = record.varint()
    while not record.at_end():
        number, directory = record.varint(), record.varint()
        require(max(quotas, default=0) < number < end, "quotas: a number is out of order")
        require(len(quotas) < 10_000, "quotas: there are too many")
        limits = [None if limit == 0 else limit - 1 for limit in (record.varint() for _ in range(3))]
        quotas[number] = (directory, limits, [record.varint() for _ in range(4)])
    for number, (directory, _, sums) in quotas.items():
        counted = [inode for inode in namespace.inodes.values() if inode.quota == number]
        require(directory in [inode.number for inode in counted], f"quota {number} does not count its directory")
        require(sums[:2] == [sum(inode.data_bytes for inode in counted), len(counted)], f"quota {number}: wrong sums")
    return quotas


def read_history(counters):
    """Samples of the size of the volume, by their keys: (seconds since 1970, bytes on disk, counts, speeds)."""
    samples = {}
    for key, value in counters.items():
        if not key.startswith(b"history."):
            continue
        record = Decoder(value, key.decode())
        record.version()
        flags, time, disk = record.number(1), record.varint(), record.varint()
        require(flags <= 3, f"{key}: unknown flags")
        require(time <= 2**40, f"{key}: out of range")
        counts = [record.varint() for _ in range(7)] if flags & 1 else None
        speeds = [record.varint() for _ in range(2)] if flags & 2 else None
        record.end()
        keys = b"history.hour.%03d" % (time // 3600 % 168), b"history.day.%04d" % (time // 86400 % 3653)
        require(key in keys, f"{key}: a sample of another time")
        samples[key] = time, disk, counts, speeds
    return samples


class Volume:
    def __init__(self, folder, snapshot=None):
        folder = pathlib.Path(folder)
        self.superblock = read_superblock(folder)
        index = Index(folder / "index")
        counters = dict(index.family("counters"))
        require(counters[b"volume_uuid"].decode() == self.superblock["uuid"], "the index belongs to another volume")
        self.holds = read_holds(counters)
        self.history = read_history(counters)
        self.namespace = Namespace(index if snapshot is None else Snapshot(index, snapshot))
        self.quotas = read_quotas(counters, self.namespace) if snapshot is None else {}
        self.store = Store(folder, index, self.superblock)

    def content(self, inode):
        return self.namespace.content(inode, self.store)

    def list(self):
        """What --list prints, an object for each path."""
        names = {}  # inode -> its first path
        for path, inode in self.namespace.paths():
            path = printable(path)
            entry = {"path": path, "mode": f"{inode.mode:o}", "uid": inode.owner, "gid": inode.group, "links": inode.links,
                     "size": inode.size, "xattrs": self.namespace.xattrs.get(inode.number, {})}
            for name in ("atime", "mtime", "ctime"):
                entry[name] = "%d.%09d" % getattr(inode, name)
            if inode.target is not None:
                entry["target"] = printable(inode.target)
            if inode.device is not None:
                entry["device"] = inode.device
            if names.setdefault(inode.number, path) != path:
                entry["same_file_as"] = names[inode.number]
            yield entry


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    try:
        volume = Volume(sys.argv[1], os.fsencode(sys.argv[3]) if len(sys.argv) == 4 else None)
        if sys.argv[2] == "--list":
            for entry in volume.list():
                print(json.dumps(entry, sort_keys=True))
        else:
            inode = volume.namespace.find(os.fsencode(sys.argv[2]))
            for piece in volume.content(inode):
                sys.stdout.buffer.write(piece)
    except (Damaged, OSError, KeyError, ValueError, zstandard.ZstdError) as error:
        sys.exit(f"format_reader: {error!r}" if isinstance(error, KeyError) else f"format_reader: {error}")


if __name__ == "__main__":
    main()
