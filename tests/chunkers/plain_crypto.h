// SHA-256 (FIPS 180-4) and AES-128 in counter mode (FIPS 197, SP 800-38A) in plain code: what golden lists are made with.
// A library that has them would have to be there for every architecture that the tests are built for, and is not.
// Wrong code here cannot hide: the digests in the golden file, of inputs and cuts, were made by OpenSSL.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace dedupfs {

inline std::uint32_t load_big_endian(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

class Sha256 {
 public:
  static std::string hex(ByteSpan bytes) {
    ByteBuffer padded(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 64 * 64), bytes.end());
    padded.push_back(0x80);
    while (padded.size() % 64 != 56) padded.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8)
      padded.push_back(static_cast<std::uint8_t>(std::uint64_t{bytes.size()} * 8 >> shift));

    Sha256 sha;
    for (std::size_t at = 0; at + 64 <= bytes.size(); at += 64) sha.add_block(bytes.data() + at);
    for (std::size_t at = 0; at < padded.size(); at += 64) sha.add_block(padded.data() + at);
    std::string text;
    for (const std::uint32_t word : sha.state_)
      for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
    return text;
  }

 private:
  void add_block(const std::uint8_t* block) {
    static constexpr std::uint32_t kRound[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    std::uint32_t w[64];
    for (std::size_t i = 0; i < 16; ++i) w[i] = load_big_endian(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::uint32_t now[8] = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += now[i];
  }

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

// With the key that is all zeros.
class Aes128 {
 public:
  Aes128() {
    // Three generates the field's multiplicative group and `inverse` is the power of its inverse: p * inverse is one.
    std::uint8_t p = 1, inverse = 1;
    do {
      p = static_cast<std::uint8_t>(p ^ doubled(p));
      for (const int shift : {1, 2, 4}) inverse = static_cast<std::uint8_t>(inverse ^ inverse << shift);
      if ((inverse & 0x80) != 0) inverse ^= 0x09;
      substitute_[p] = static_cast<std::uint8_t>(inverse ^ std::rotl(inverse, 1) ^ std::rotl(inverse, 2) ^
                                                 std::rotl(inverse, 3) ^ std::rotl(inverse, 4) ^ 0x63);
    } while (p != 1);
    substitute_[0] = 0x63;
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint8_t once = substitute_[i], twice = doubled(once);
      mix_[i] = std::uint32_t{twice} << 24 | std::uint32_t{once} << 16 | std::uint32_t{once} << 8 | (twice ^ once);
    }
    std::uint8_t constant = 1;
    for (std::size_t i = 4; i < keys_.size(); ++i) {
      std::uint32_t last = keys_[i - 1];
      if (i % 4 == 0) {
        last = substituted(std::rotl(last, 8)) ^ std::uint32_t{constant} << 24;
        constant = doubled(constant);
      }
      keys_[i] = keys_[i - 4] ^ last;
    }
  }

  // Block number `counter` of the key stream, as four words of big-endian bytes.
  std::array<std::uint32_t, 4> block(std::uint64_t counter) const {
    std::array<std::uint32_t, 4> s = {0, 0, static_cast<std::uint32_t>(counter >> 32),
                                      static_cast<std::uint32_t>(counter)};
    for (std::size_t i = 0; i < 4; ++i) s[i] ^= keys_[i];
    for (std::size_t round = 1; round <= 10; ++round) {
      const auto before = s;
      for (std::size_t i = 0; i < 4; ++i) {
        const std::uint32_t shifted = (before[i] & 0xff000000) | (before[(i + 1) % 4] & 0xff0000) |
                                      (before[(i + 2) % 4] & 0xff00) | (before[(i + 3) % 4] & 0xff);
        s[i] = keys_[4 * round + i] ^
               (round == 10 ? substituted(shifted)
                            : mix_[shifted >> 24] ^ std::rotr(mix_[shifted >> 16 & 0xff], 8) ^
                                  std::rotr(mix_[shifted >> 8 & 0xff], 16) ^ std::rotr(mix_[shifted & 0xff], 24));
      }
    }
    return s;
  }

 private:
  static std::uint8_t doubled(std::uint8_t x) { return static_cast<std::uint8_t>(x << 1 ^ (x >> 7) * 0x1b); }
  std::uint32_t substituted(std::uint32_t word) const {
    return std::uint32_t{substitute_[word >> 24]} << 24 | std::uint32_t{substitute_[word >> 16 & 0xff]} << 16 |
           std::uint32_t{substitute_[word >> 8 & 0xff]} << 8 | substitute_[word & 0xff];
  }

  std::array<std::uint8_t, 256> substitute_ = {};
  std::array<std::uint32_t, 256> mix_ = {};  // the column that a byte in the first row becomes
  std::array<std::uint32_t, 44> keys_ = {};
};

}  // namespace dedupfs
