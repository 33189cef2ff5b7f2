#!/usr/bin/python3
"""Writes a key header and a sealed file as docs/format.md describes them, without any code of dedupfs: the test vectors there.

The vectors were made with fixed salts. Needs the Python package `cryptography`, and libargon2.
"""
import ctypes
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MASTER = bytes(range(32))
FORMER_MASTER = bytes(range(0xe0, 0x100))
UUID = "01234567-89ab-4cde-8f01-23456789abcd"


def hkdf(key, salt, info):
    extracted = hmac.new(salt or bytes(32), key, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def seal(key, nonce, plain, associated=None):
    return AESGCM(key).encrypt(struct.pack("<QI", nonce, 0), plain, associated)


def varint(number):
    encoded = b""
    while number >= 0x80:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def svarint(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def argon2id(passphrase, salt, passes, memory_kib, lanes):
    out = ctypes.create_string_buffer(32)
    failed = ctypes.CDLL("libargon2.so.1").argon2id_hash_raw(
        passes, memory_kib, lanes, passphrase, len(passphrase), salt, len(salt), out, 32)
    assert failed == 0
    return out.raw


def slot_and_mac():
    salt = bytes(range(0x40, 0x60))
    stretched = argon2id(b"correct horse", salt, 1, 8192, 1)
    check = hkdf(stretched, b"", b"dedupfs slot check")
    sealed = seal(hkdf(stretched, b"", b"dedupfs slot key"), 0, MASTER, UUID.encode())
    former_salt = bytes(range(0x80, 0xa0))
    former = seal(hkdf(MASTER, former_salt, b"dedupfs former key"), 0, FORMER_MASTER, UUID.encode() + struct.pack("<I", 1))
    text = b"".join(varint(len(part)) + part for part in (UUID.encode(), b"aes-256-gcm"))
    text += struct.pack("<I", 2) + varint(1)
    text += struct.pack("<I", 1) + varint(10) + b"passphrase" + struct.pack("<III", 8192, 1, 1) + salt + check + sealed
    text += varint(1) + struct.pack("<I", 1) + former_salt + former
    mac = hmac.new(hkdf(MASTER, b"", b"dedupfs header"), text, hashlib.sha256).digest()
    return {"salt": salt, "check": check, "key": sealed, "former salt": former_salt, "former key": former, "mac": mac}


def sealed_file(place):
    def key(salt, purpose):
        return hkdf(MASTER, salt, b"dedupfs\0" + purpose + b"\0" + place + b"\0")

    salt, session = bytes(range(0x20, 0x40)), bytes(range(0x10, 0x20))
    segment = key(salt, b"segment")
    out = salt + seal(segment, 32, struct.pack("<Q", 1) + session)
    extents, durable = [], 0
    for offset, data in ((0, b"hello, "), (7, b"world")):
        out += seal(segment, len(out), struct.pack("<IIQQ", 1, len(data), offset, durable))
        extents.append((len(data), len(out)))
        out += seal(segment, len(out), data)
        durable = len(out)  # it is synced after each write
    content_map = varint(1) + varint(0) + salt + session + varint(2) + varint(len(extents))
    place_before = 0
    for length, at in extents:
        content_map += varint(0) + varint(length) + varint(0) + varint(length) + varint(0) + svarint(at - place_before)
        place_before = at + length + 16
    end_salt = bytes(range(0x60, 0x80))
    end = key(end_salt, b"trailer")
    trailer = struct.pack("<QQQ", len(out), len(content_map), 12)
    out += seal(end, len(out), content_map) + end_salt
    return out + seal(end, len(out), trailer)


if __name__ == "__main__":
    for name, value in slot_and_mac().items():
        print(name, value.hex())
    print("file", sealed_file(b"index/000012.sst").hex())
