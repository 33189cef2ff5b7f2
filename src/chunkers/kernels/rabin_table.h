// The sliding Rabin fingerprint of LBFS and DedupBench: the residue of a window of 48 bytes, as a polynomial over GF(2)
// with the first byte in front, modulo P(x) = 0x3DA3358B4DC173 (degree 53).
//
// Boundaries of volumes depend on these numbers: they never change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs {

inline constexpr std::uint64_t kRabinPolynomial = 0x3DA3358B4DC173;
inline constexpr std::size_t kRabinDegree = 53;
inline constexpr std::size_t kRabinWindowBytes = 48;

struct RabinTables {
  std::uint64_t reduce[256];  // of the byte that the shift pushes beyond the degree: byte * x^53 mod P
  std::uint64_t out[256];     // the contribution of a byte that has left the window: byte * x^(8*48) mod P
};

// value * x^shift mod P
consteval std::uint64_t rabin_shifted(std::uint64_t value, std::size_t shift) {
  for (; shift > 0; --shift) {
    value <<= 1;
    if ((value >> kRabinDegree & 1) != 0) value ^= kRabinPolynomial;
  }
  return value;
}

consteval RabinTables make_rabin_tables() {
  RabinTables tables{};
  for (std::uint64_t bit = 0; bit < 8; ++bit) {  // residues are linear, so eight entries make all
    const std::uint64_t reduced = rabin_shifted(std::uint64_t{1} << bit, kRabinDegree);
    const std::uint64_t left = rabin_shifted(std::uint64_t{1} << bit, 8 * kRabinWindowBytes);
    for (std::size_t i = 0; i < 256; ++i)
      if ((i >> bit & 1) != 0) {
        tables.reduce[i] ^= reduced;
        tables.out[i] ^= left;
      }
  }
  return tables;
}

namespace {

// As kGearTable, a copy for each source.
constexpr RabinTables kRabinTables = make_rabin_tables();

// One step of the digest, without a byte leaving.
[[gnu::always_inline]] inline std::uint64_t rabin_step(std::uint64_t digest, std::uint8_t byte) {
  constexpr std::uint64_t kBelowDegree = (std::uint64_t{1} << kRabinDegree) - 1;
  return (((digest << 8) | byte) & kBelowDegree) ^ kRabinTables.reduce[digest >> (kRabinDegree - 8)];
}

}  // namespace
}  // namespace dedupfs
