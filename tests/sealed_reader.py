#!/usr/bin/python3
"""Makes a plain volume of an encrypted one. Written from docs/format.md alone ("Encrypted volumes", "Sealed files"): it shares no
code with dedupfs, and shows that the page says enough. Needs libcrypto and libargon2.

Usage: sealed_reader.py VOLUME FOLDER <PASSPHRASE      FOLDER is made
"""
import ctypes
import hashlib
import hmac
import json
import pathlib
import struct
import sys

PIECE = 8192
TAG = 16
HEAD = 40
CRYPTO = ctypes.CDLL("libcrypto.so.3")
for function in ("EVP_CIPHER_CTX_new", "EVP_aes_256_gcm", "EVP_chacha20_poly1305"):
    getattr(CRYPTO, function).restype = ctypes.c_void_p
SET_TAG = 0x11  # EVP_CTRL_AEAD_SET_TAG


class Damaged(Exception):
    pass


def open_sealed(cipher, key, nonce, sealed, associated=b""):
    """What was sealed, or None."""
    if len(sealed) < TAG:
        return None
    text, tag = sealed[:-TAG], sealed[-TAG:]
    context = ctypes.c_void_p(CRYPTO.EVP_CIPHER_CTX_new())
    algorithm = ctypes.c_void_p(getattr(CRYPTO, {"aes-256-gcm": "EVP_aes_256_gcm", "chacha20-poly1305": "EVP_chacha20_poly1305"}[cipher])())
    out, length = ctypes.create_string_buffer(len(text) + TAG), ctypes.c_int()
    try:
        done = CRYPTO.EVP_DecryptInit_ex(context, algorithm, None, key, struct.pack("<QI", nonce, 0)) == 1
        if associated:
            done = done and CRYPTO.EVP_DecryptUpdate(context, None, ctypes.byref(length), associated, len(associated)) == 1
        done = done and CRYPTO.EVP_DecryptUpdate(context, out, ctypes.byref(length), text, len(text)) == 1
        done = done and CRYPTO.EVP_CIPHER_CTX_ctrl(context, SET_TAG, TAG, tag) == 1
        nothing = ctypes.create_string_buffer(TAG)
        if done and CRYPTO.EVP_DecryptFinal_ex(context, nothing, ctypes.byref(length)) == 1:
            return out.raw[:len(text)]
        return None
    finally:
        CRYPTO.EVP_CIPHER_CTX_free(context)


def hkdf(key, salt, info):
    extracted = hmac.new(salt or bytes(32), key, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def argon2id(passphrase, salt, passes, memory_kib, lanes):
    out = ctypes.create_string_buffer(32)
    hash_raw = ctypes.CDLL("libargon2.so.1").argon2id_hash_raw
    # Without these, the upper half of a length can be anything.
    hash_raw.argtypes = [ctypes.c_uint32] * 3 + [ctypes.c_char_p, ctypes.c_size_t] * 3
    failed = hash_raw(passes, memory_kib, lanes, passphrase, len(passphrase), salt, len(salt), out, 32)
    if failed:
        raise Damaged(f"argon2: {failed}")
    return out.raw


class Numbers:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise Damaged("cut off")
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def svarint(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)


def sealed_length(length):
    return length + (length + PIECE - 1) // PIECE * TAG


class Key:
    """The master keys of a volume: the current one, and the former ones by number."""

    def __init__(self, header, passphrase):
        self.cipher = header["cipher"]
        uuid = header["uuid"].encode()
        for slot in header["key_slots"]:
            stretched = argon2id(passphrase, bytes.fromhex(slot["salt"]), slot["passes"], slot["memory_kib"], slot["lanes"])
            if hkdf(stretched, b"", b"dedupfs slot check").hex() != slot["check"]:
                continue
            self.master = open_sealed("aes-256-gcm", hkdf(stretched, b"", b"dedupfs slot key"), 0, bytes.fromhex(slot["key"]), uuid)
            if self.master is None or self.mac(header) != header["mac"]:
                raise Damaged("the key header was changed")
            self.number = header["key_number"]
            self.masters = {self.number: self.master}
            for former in reversed(header["former_keys"]):
                sealing = hkdf(self.master, bytes.fromhex(former["salt"]), b"dedupfs former key")
                self.masters[former["number"]] = open_sealed("aes-256-gcm", sealing, 0, bytes.fromhex(former["key"]),
                                                             uuid + struct.pack("<I", former["number"]))
            return
        raise Damaged("no key slot opens")

    def mac(self, header):
        def text(value):
            encoded = value.encode()
            return bytes([len(encoded)]) + encoded  # all are shorter than 128 bytes here

        message = text(header["uuid"]) + text(header["cipher"])
        message += struct.pack("<I", header["key_number"]) + bytes([len(header["key_slots"])])
        for slot in header["key_slots"]:
            message += struct.pack("<I", slot["number"]) + text(slot["name"])
            message += struct.pack("<III", slot["memory_kib"], slot["passes"], slot["lanes"])
            message += bytes.fromhex(slot["salt"] + slot["check"] + slot["key"])
        message += bytes([len(header["former_keys"])])
        for former in header["former_keys"]:
            message += struct.pack("<I", former["number"]) + bytes.fromhex(former["salt"] + former["key"])
        return hmac.new(hkdf(self.master, b"", b"dedupfs header"), message, hashlib.sha256).hexdigest()

    def of_file(self, number, salt, purpose, place):
        return hkdf(self.masters[number], salt, b"dedupfs\0" + purpose + b"\0" + place.encode() + b"\0")

    def opens(self, salt, purpose, place, at, sealed, associated=b"", least=0):
        """The number and the key that open a head, and what it says. `least`: no lower number is taken."""
        for number in self.masters:
            if number < least:
                break
            key = self.of_file(number, salt, purpose, place)
            if (head := self.open(key, at, sealed, associated)) is not None:
                return number, key, head
        return None, None, None

    def open(self, key, place, sealed, associated=b""):
        return open_sealed(self.cipher, key, place, sealed, associated)

    def open_pieces(self, key, place, sealed):
        plain = b""
        for at in range(0, len(sealed), PIECE + TAG):
            piece = self.open(key, place + at, sealed[at:at + PIECE + TAG])
            if piece is None:
                return None
            plain += piece
        return plain


def place_of(path):
    path = path.removesuffix(".new")
    folder, slash, name = path.partition("/")
    if not slash:
        return path
    if folder == "checkpoints":
        return folder
    if folder.startswith("index"):
        folder = "index"
    if name in ("CURRENT", "IDENTITY") or name.startswith("OPTIONS-") or name.endswith(".dbtmp"):
        name = "small"
    return f"{folder}/{name}"


def scan(data, key, place):
    """All records, also those that do not count: (begin, end, kind, offset, durable, plain). And the salts of segments, by place."""
    at, segment, salt, number, found, salts = 0, None, b"", 0, [], {}
    while True:
        opened = key.open(segment, at, data[at:at + HEAD]) if segment else None
        if opened:
            kind, length, offset, durable = struct.unpack("<IIQQ", opened)
            end = at + HEAD + sealed_length(length)
            if end > len(data):
                break
            found.append((at, end, kind, offset, durable, key.open_pieces(segment, at + HEAD, data[at + HEAD:end])))
            at = end
            continue
        newer, candidate, head = key.opens(data[at:at + 32], b"segment", place, at + 32, data[at + 32:at + 32 + HEAD], salt, number)
        if not head or struct.unpack("<Q", head[:8]) != (1,):
            break
        number, segment, salt = newer, candidate, data[at:at + 32]
        salts[at] = salt
        at += 32 + HEAD
    return found, salts, at


def records_of(data, key, place):
    """(offset, bytes or None for a truncation) of each record that counts, and where they end."""
    found, _, at = scan(data, key, place)
    synced = max([record[4] for record in found], default=0)
    counted = []
    for begin, _, kind, offset, _, plain in found:
        if plain is None and begin >= synced:
            return counted, begin
        if plain is None:
            raise Damaged(f"{place}: the record at {begin}")
        counted.append((offset, plain if kind == 1 else None))
    return counted, at


def sealed_parts(data, key, place):
    """(salt, nonce, bytes that it sealed) of all that is in a file: heads of segments, records, map and trailer."""
    found, salts, end = scan(data, key, place)
    parts = [(salt, at + 32, data[at + 32:at + 32 + HEAD]) for at, salt in salts.items()]
    for begin, record_end, *_ in found:
        salt = salts[max(at for at in salts if at < begin)]
        parts.append((salt, begin, data[begin:begin + HEAD]))
        parts += [(salt, at, data[at:min(at + PIECE + TAG, record_end)]) for at in range(begin + HEAD, record_end, PIECE + TAG)]
    if end < len(data):
        salt = data[-72:-40]
        if key.opens(salt, b"trailer", place, len(data) - HEAD, data[-HEAD:])[0] is None:
            raise Damaged(f"{place}: what begins at {end} is no map and trailer")
        parts.append((salt, len(data) - HEAD, data[-HEAD:]))
        parts += [(salt, at, data[at:min(at + PIECE + TAG, len(data) - 72)]) for at in range(end, len(data) - 72, PIECE + TAG)]
    return parts


def content_by_records(data, key, place):
    content = bytearray()
    records, end = records_of(data, key, place)
    for offset, plain in records:
        size = offset if plain is None else max(len(content), offset + len(plain))
        content[size:] = b""
        content.extend(bytes(size - len(content)))
        if plain is not None:
            content[offset:offset + len(plain)] = plain
    return bytes(content), end


def content_by_map(data, key, place):
    """The content and where the map begins; nothing if there is no map, or it is damaged."""
    if len(data) < 72:
        return None, None
    newest, end_key, trailer = key.opens(data[-72:-40], b"trailer", place, len(data) - HEAD, data[-HEAD:])
    if trailer is None:
        return None, None
    map_place, _, size = struct.unpack("<QQQ", trailer)
    plain_map = key.open_pieces(end_key, map_place, data[map_place:-72])
    if plain_map is None:
        return None, map_place
    numbers = Numbers(plain_map)
    keys, number = [], 0
    for _ in range(numbers.varint()):
        numbers.varint()
        salt = numbers.take(32)
        numbers.take(16)
        if not number <= (number := numbers.varint()) <= newest:
            raise Damaged(f"{place}: a map of segments under newer keys")
        keys.append(key.of_file(number, salt, b"segment", place))
    content, end, before = bytearray(size), 0, 0
    for _ in range(numbers.varint()):
        begin = end + numbers.varint()
        end = begin + numbers.varint()
        skipped, length, segment = numbers.varint(), numbers.varint(), numbers.varint()
        at = before + numbers.svarint()
        before = at + sealed_length(length)
        plain = key.open_pieces(keys[segment], at, data[at:before])
        if plain is None:
            raise Damaged(f"{place}: the record at {at}")
        content[begin:end] = plain[skipped:skipped + end - begin]
    return bytes(content), map_place


def unseal(data, key, path):
    """The content of a sealed file. Where there is a map, the records must say the same."""
    place = place_of(path)
    mapped, map_place = content_by_map(data, key, place)
    content, end = content_by_records(data, key, place)
    if map_place is not None and (end != map_place or (mapped is not None and mapped != content)):
        raise Damaged(f"{path}: the records do not say what the map says")
    return content


def unmounted_files(record):
    """The list of the last unmount: length, oldest key and trailer by path. Nothing if the volume was in use."""
    numbers = Numbers(record)
    if numbers.take(1) != b"\1" or numbers.take(1)[0] & 1 == 0:
        return None
    numbers.varint(), numbers.svarint(), numbers.take(16)
    files = {}
    for _ in range(numbers.varint()):
        path = numbers.take(numbers.varint()).decode()
        length, _, _, oldest = numbers.varint(), numbers.varint(), numbers.take(32), numbers.varint()
        files[path] = (length, oldest, numbers.take(72) if numbers.take(1) == b"\1" else None)
    return files


def record_of(volume, key):
    """The record of the last session: the one that the current master key has sealed."""
    for name in ("unmounted", "unmounted.copy"):
        data = (volume / name).read_bytes() if (volume / name).exists() else b""
        if key.opens(data[:32], b"segment", name, 32, data[32:32 + HEAD])[0] == key.number:
            return unseal(data, key, name)
    raise Damaged("no list of files under the current master key")


def make_plain(volume, folder, passphrase):
    volume, folder = pathlib.Path(volume), pathlib.Path(folder)
    header = json.loads((volume / "superblock.json").read_text())
    if header["incompatible_features"] != ["encryption"]:
        raise Damaged("not encrypted")
    key = Key(header, passphrase)
    listed = unmounted_files(record_of(volume, key))
    folder.mkdir()
    for source in sorted(volume.rglob("*")):
        path = str(source.relative_to(volume))
        if source.is_dir():
            (folder / path).mkdir(parents=True)
        elif path in ("lock", "ballast"):
            (folder / path).write_bytes(source.read_bytes())
        elif path.startswith("settings"):
            (folder / {"settings": "superblock.json", "settings.copy": "superblock.copy.json"}[path]).write_bytes(
                unseal(source.read_bytes(), key, path))
        elif not path.startswith(("superblock", "unmounted", "control")):
            (folder / path).write_bytes(unseal(source.read_bytes(), key, path))
        if listed is not None and source.is_file() and ("/" in path or path.startswith("settings")):
            data = source.read_bytes()
            length, oldest, trailer = listed.pop(path)
            first = key.opens(data[:32], b"segment", place_of(path), 32, data[32:32 + HEAD])[0]
            if length != len(data) or (trailer is not None and trailer != data[-72:]) or oldest != (first or 0):
                raise Damaged(f"{path} is not as the last unmount left it")
    if listed:
        raise Damaged(f"missing: {sorted(listed)}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    try:
        make_plain(sys.argv[1], sys.argv[2], sys.stdin.buffer.read().removesuffix(b"\n"))
    except Damaged as damage:
        sys.exit(f"sealed_reader: {damage}")
