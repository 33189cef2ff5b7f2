// Field-by-field encoding of everything that goes to disk: fixed-width little-endian integers for structures in files,
// big-endian ones for index keys (so that byte order is number order), and LEB128 varints where values are small.
//
// Decoding never trusts its input: Decoder stops at the end of the bytes and remembers that it failed, so a parser
// reads all its fields and asks ok() once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace dedupfs {

// Appends to a std::string, the owner type that RocksDB and file writers share.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { little_endian(value, 2); }
  void u32(std::uint32_t value) { little_endian(value, 4); }
  void u64(std::uint64_t value) { little_endian(value, 8); }
  void big_u64(std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) u8(static_cast<std::uint8_t>(value >> shift));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<std::uint8_t>(value | 0x80));
    u8(static_cast<std::uint8_t>(value));
  }
  // Zigzag: small magnitudes of either sign stay short.
  void signed_varint(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void bytes(ByteSpan value) { out_.append(text_of(value)); }
  void bytes(std::string_view value) { out_.append(value); }

 private:
  void little_endian(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) u8(static_cast<std::uint8_t>(value >> (8 * i)));
  }

  std::string& out_;
};

class Decoder {
 public:
  explicit Decoder(ByteSpan in) : in_(in) {}
  explicit Decoder(std::string_view in) : in_(bytes_of(in)) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(little_endian(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(little_endian(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(little_endian(4)); }
  std::uint64_t u64() { return little_endian(8); }
  std::uint64_t big_u64() {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes(8)) value = value << 8 | byte;
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (shift == 63 && byte > 1) break;  // would not fit 64 bits
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  std::int64_t signed_varint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  // A view into the input; empty after a failure.
  ByteSpan bytes(std::size_t count) {
    if (count > in_.size()) {
      fail();
      return {};
    }
    const ByteSpan taken = in_.first(count);
    in_ = in_.subspan(count);
    return taken;
  }

  std::size_t remaining() const { return in_.size(); }
  bool ok() const { return ok_; }
  bool ok_at_end() const { return ok_ && in_.empty(); }

 private:
  std::uint64_t little_endian(std::size_t width) {
    std::uint64_t value = 0;
    int shift = 0;
    for (const std::uint8_t byte : bytes(width)) {
      value |= static_cast<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }
  void fail() {
    ok_ = false;
    in_ = {};
  }

  ByteSpan in_;
  bool ok_ = true;
};

}  // namespace dedupfs
