#!/usr/bin/python3
"""Writes a key header and a sealed file as docs/format.md describes them, without any code of dedupfs: the test vectors there.

The vectors are made with fixed salts, once with each cipher. Needs libcrypto and libargon2.

Usage: vectors.py [PAGE]      with a page: says which vectors it lacks
"""
import ctypes
import hashlib
import hmac
import pathlib
import struct
import sys

CRYPTO = ctypes.CDLL("libcrypto.so.3")
CIPHERS = {"aes-256-gcm": "EVP_aes_256_gcm", "chacha20-poly1305": "EVP_chacha20_poly1305"}
for function in ("EVP_CIPHER_CTX_new", *CIPHERS.values()):
    getattr(CRYPTO, function).restype = ctypes.c_void_p
GET_TAG = 0x10  # EVP_CTRL_AEAD_GET_TAG
TAG = 16
HEADER_CIPHER = "aes-256-gcm"  # of master keys, whatever the files are sealed with
ROW = 48  # bytes in a line of the page
MASTER = bytes(range(32))
FORMER_MASTER = bytes(range(0xe0, 0x100))
UUID = "01234567-89ab-4cde-8f01-23456789abcd"


def hkdf(key, salt, info):
    extracted = hmac.new(salt or bytes(32), key, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def seal(cipher, key, nonce, plain, associated=b""):
    context = ctypes.c_void_p(CRYPTO.EVP_CIPHER_CTX_new())
    algorithm = ctypes.c_void_p(getattr(CRYPTO, CIPHERS[cipher])())
    text, tag, length = ctypes.create_string_buffer(len(plain) + TAG), ctypes.create_string_buffer(TAG), ctypes.c_int()
    done = CRYPTO.EVP_EncryptInit_ex(context, algorithm, None, key, struct.pack("<QI", nonce, 0)) == 1
    if associated:
        done = done and CRYPTO.EVP_EncryptUpdate(context, None, ctypes.byref(length), associated, len(associated)) == 1
    done = done and CRYPTO.EVP_EncryptUpdate(context, text, ctypes.byref(length), plain, len(plain)) == 1
    done = done and CRYPTO.EVP_EncryptFinal_ex(context, ctypes.create_string_buffer(TAG), ctypes.byref(length)) == 1
    done = done and CRYPTO.EVP_CIPHER_CTX_ctrl(context, GET_TAG, TAG, tag) == 1
    CRYPTO.EVP_CIPHER_CTX_free(context)
    assert done
    return text.raw[:len(plain)] + tag.raw


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
    hash_raw = ctypes.CDLL("libargon2.so.1").argon2id_hash_raw
    # Without these, the upper half of a length can be anything.
    hash_raw.argtypes = [ctypes.c_uint32] * 3 + [ctypes.c_char_p, ctypes.c_size_t] * 3
    failed = hash_raw(passes, memory_kib, lanes, passphrase, len(passphrase), salt, len(salt), out, 32)
    assert failed == 0
    return out.raw


def slot_and_mac(cipher):
    salt = bytes(range(0x40, 0x60))
    stretched = argon2id(b"correct horse", salt, 1, 8192, 1)
    check = hkdf(stretched, b"", b"dedupfs slot check")
    sealed = seal(HEADER_CIPHER, hkdf(stretched, b"", b"dedupfs slot key"), 0, MASTER, UUID.encode())
    former_salt = bytes(range(0x80, 0xa0))
    former = seal(HEADER_CIPHER, hkdf(MASTER, former_salt, b"dedupfs former key"), 0, FORMER_MASTER, UUID.encode() + struct.pack("<I", 1))
    text = b"".join(varint(len(part)) + part for part in (UUID.encode(), cipher.encode()))
    text += struct.pack("<I", 2) + varint(1)
    text += struct.pack("<I", 1) + varint(10) + b"passphrase" + struct.pack("<III", 8192, 1, 1) + salt + check + sealed
    text += varint(1) + struct.pack("<I", 1) + former_salt + former
    mac = hmac.new(hkdf(MASTER, b"", b"dedupfs header"), text, hashlib.sha256).digest()
    return [("salt", salt), ("check", check), ("key", sealed), ("mac", mac), ("former key: salt", former_salt),
            ("former key: key", former)]


def sealed_file(cipher, place):
    """Its parts, in order."""
    def key(salt, purpose):
        return hkdf(MASTER, salt, b"dedupfs\0" + purpose + b"\0" + place + b"\0")

    salt, session = bytes(range(0x20, 0x40)), bytes(range(0x10, 0x20))
    segment = key(salt, b"segment")
    parts = [("segment: salt", salt), ("segment: head", seal(cipher, segment, 32, struct.pack("<Q", 1) + session))]
    at, extents, durable = 72, [], 0
    for offset, data in ((0, b"hello, "), (7, b"world")):
        parts.append(("record: header", seal(cipher, segment, at, struct.pack("<IIQQ", 1, len(data), offset, durable))))
        at += 40
        extents.append((len(data), at))
        parts.append((f"record: `{data.decode()}`", seal(cipher, segment, at, data)))
        at += len(data) + TAG
        durable = at  # it is synced after each write
    content_map = varint(1) + varint(0) + salt + session + varint(2) + varint(len(extents))
    place_before = 0
    for length, begin in extents:
        content_map += varint(0) + varint(length) + varint(0) + varint(length) + varint(0) + svarint(begin - place_before)
        place_before = begin + length + TAG
    end_salt = bytes(range(0x60, 0x80))
    end = key(end_salt, b"trailer")
    trailer = struct.pack("<QQQ", at, len(content_map), 12)
    parts += [("map", seal(cipher, end, at, content_map)), ("trailer: salt", end_salt)]
    at += len(content_map) + TAG + len(end_salt)
    return parts + [("trailer: head", seal(cipher, end, at, trailer))]


def block(parts, widths):
    """As the page has it: names in a column, and long values on several lines."""
    lines = []
    for name, value in parts:
        width = max(width for prefix, width in widths.items() if name.startswith(prefix))
        for begin in range(0, len(value), ROW):
            lines.append(f"{name if begin == 0 else '':{width}}{value[begin:begin + ROW].hex()}")
    return "```\n" + "\n".join(lines) + "\n```\n"


def blocks():
    return [text for cipher in CIPHERS for text in (
        block(slot_and_mac(cipher), {"": 6, "former": 17}), block(sealed_file(cipher, b"index/000012.sst"), {"": 18}))]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(blocks()), end="")
    else:
        page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
        missing = [text for text in blocks() if text not in page]
        for text in missing:
            print(f"{sys.argv[1]} lacks:\n{text}", end="")
        sys.exit(1 if missing else 0)
