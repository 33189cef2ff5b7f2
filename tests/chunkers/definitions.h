// The algorithms as DedupBench's scalar code has them, written a second time without regard to speed and without the
// library's tables: what its definitions (src/chunkers/reference) are tested against.
//
// Each gives the length of the first chunk of b, of which n bytes exist or count.
#pragma once

#include <functional>

#include "test_data.h"

namespace dedupfs {

inline std::uint64_t gear_entry(std::uint8_t byte) {
  static const std::vector<std::uint64_t> kTable = [] {
    std::vector<std::uint64_t> table(256);
    std::uint64_t state = 0;
    for (auto& entry : table) entry = splitmix64(state);
    return table;
  }();
  return kTable[byte];
}

// How small a hash of `hash_bits` bits must be for a cut: norm more or fewer than log2(avg) top bits are zero.
inline bool gear_matches(std::uint64_t hash, int hash_bits, const ChunkSizes& sizes, int norm, bool before_avg) {
  const int zero_bits = std::countr_zero(sizes.avg_bytes) + (before_avg ? norm : -norm);
  return hash >> (hash_bits - zero_bits) == 0;
}

inline std::size_t gear_length(const ChunkSizes& sizes, int norm, const std::uint8_t* b, std::size_t n) {
  std::uint64_t hash = 0;
  for (std::size_t i = sizes.min_bytes; i < n; ++i) {
    hash = 2 * hash + gear_entry(b[i]);
    if (gear_matches(hash, 64, sizes, norm, i < sizes.avg_bytes)) return i;
  }
  return n;
}

inline std::size_t narrow_gear_length(const ChunkSizes& sizes, int hash_bits, int norm, const std::uint8_t* b,
                                      std::size_t n) {
  for (std::size_t length = sizes.min_bytes; length <= n; ++length) {
    std::uint64_t hash = 0;
    for (std::size_t i = length - static_cast<std::size_t>(hash_bits); i < length; ++i)
      hash = 2 * hash + gear_entry(b[i]);
    if (gear_matches(hash % (std::uint64_t{1} << hash_bits), hash_bits, sizes, norm, length <= sizes.avg_bytes))
      return length;
  }
  return n;
}

inline std::size_t ram_length(std::size_t window, const std::uint8_t* b, std::size_t n) {
  if (n < window) return n;
  const std::uint8_t largest = *std::max_element(b, b + window);
  for (std::size_t i = window; i < n; ++i)
    if (b[i] >= largest) return i;
  return n;
}

inline std::size_t fastcdc_length(const ChunkSizes& sizes, int norm, const std::uint8_t* b, std::size_t n) {
  const int bits = std::countr_zero(sizes.avg_bytes);
  std::uint64_t hash = 0;
  for (std::size_t i = sizes.min_bytes; i < n; ++i) {
    hash = 2 * hash + gear_entry(b[i]);
    if (hash % (std::uint64_t{1} << (i < sizes.avg_bytes ? bits + norm : bits - norm)) == 0) return i;
  }
  return n;
}

inline std::uint32_t crc_of(std::uint8_t byte) {
  static const std::vector<std::uint32_t> kTable = [] {
    std::vector<std::uint32_t> table;
    for (std::uint32_t crc = 0; crc < 256; ++crc) {
      table.push_back(crc);
      for (int bit = 0; bit < 8; ++bit) table.back() = table.back() / 2 ^ (table.back() % 2) * 0xEDB88320;
    }
    return table;
  }();
  return kTable[byte];
}

// The CRC is computed anew at each position.
inline std::size_t crc_length(const ChunkSizes& sizes, const std::uint8_t* b, std::size_t n) {
  for (std::size_t i = sizes.min_bytes; i < n; ++i) {
    std::uint32_t crc = 0;
    for (std::size_t k = i - 255; k <= i; ++k) crc = crc / 256 ^ crc_of(static_cast<std::uint8_t>(crc ^ b[k]));
    if (crc % sizes.avg_bytes == 0) return i;
  }
  return n;
}

// top * x^53 modulo the polynomial.
inline std::uint64_t rabin_residue(std::uint64_t top) {
  static const std::vector<std::uint64_t> kTable = [] {
    std::vector<std::uint64_t> table;
    for (std::uint64_t i = 0; i < 256; ++i) {
      std::uint64_t residue = i << 53;
      for (int bit = 60; bit >= 53; --bit)
        if ((residue >> bit) % 2 == 1) residue ^= std::uint64_t{0x3DA3358B4DC173} << (bit - 53);
      table.push_back(residue);
    }
    return table;
  }();
  return kTable[top];
}

// The residue of the 48 bytes up to and with b[i], computed anew; in front of b[from] stand a byte 0x01 and zeros.
inline std::uint64_t rabin_digest(const std::uint8_t* b, std::size_t from, std::size_t i) {
  const bool sees_start = i < from + 47;
  std::uint64_t residue = sees_start ? 1 : 0;
  for (std::size_t k = sees_start ? from : i - 47; k <= i; ++k) {
    const std::uint64_t shifted = residue << 8 | b[k];
    residue = shifted % (std::uint64_t{1} << 53) ^ rabin_residue(shifted >> 53);
  }
  return residue;
}

inline std::size_t rabin_length(const ChunkSizes& sizes, const std::uint8_t* b, std::size_t n) {
  for (std::size_t i = sizes.min_bytes - 1; i < n; ++i)
    if (rabin_digest(b, 0, i) % sizes.avg_bytes == 0) return i + 1;
  return n;
}

inline std::size_t tttd_length(const ChunkSizes& sizes, const std::uint8_t* b, std::size_t n) {
  std::size_t backup = n;
  for (std::size_t i = sizes.min_bytes; i < n; ++i) {
    const std::uint64_t digest = rabin_digest(b, sizes.min_bytes, i);
    if (digest % sizes.avg_bytes == 0) return i;
    if (digest % (sizes.avg_bytes / 2) == 0) backup = i;
  }
  return backup;
}

inline std::size_t toga_length(const ChunkSizes& sizes, unsigned limit, const std::uint8_t* b, std::size_t n) {
  const auto passes = [&](std::size_t i) {
    unsigned hash = 0;
    for (unsigned row = 0; row < 8; ++row) hash ^= std::rotl(b[i - 64 * row], static_cast<int>(row));
    return hash >= limit;
  };
  for (std::size_t length = sizes.min_bytes; length <= n; ++length) {
    std::size_t run = 0;
    while (run < 64 && passes(length - 1 - run)) ++run;
    if (run == 64) return length;
  }
  return n;
}

// AE by its definition, not its loop: the first cut i such that b[i - window] is larger than all in front of it and
// nothing up to and with i is larger.
template <class Better>
std::size_t ae_length(std::size_t window, const std::uint8_t* b, std::size_t n, Better better) {
  std::size_t target = 0;
  for (std::size_t x = 0; x < n; ++x) {
    if (x > 0 && !better(b[x], b[target])) continue;
    target = x;
    std::size_t i = x + 1;
    while (i < n && i <= x + window && !better(b[i], b[x])) ++i;
    if (i == x + window + 1) return x + window;
  }
  return n;
}

inline std::size_t maxp_length(std::size_t window, const std::uint8_t* b, std::size_t n) {
  for (std::size_t x = window; x + window + 2 <= n;) {
    const auto larger = std::find_if(b + x + 1, b + x + 1 + window, [&](auto byte) { return byte >= b[x]; });
    if (larger != b + x + 1 + window)
      x = static_cast<std::size_t>(larger - b);
    else if (std::all_of(b + x - window, b + x, [&](auto byte) { return byte <= b[x]; }))
      return x;
    else
      x += window + 1;
  }
  return n;
}

struct SequenceRule {
  std::size_t length, trigger, skip;
  bool decreasing = false;
};

inline std::size_t seqcdc_length(const ChunkSizes& sizes, const SequenceRule& rule, const std::uint8_t* b,
                                 std::size_t n) {
  std::size_t run = 0, opposite = 0;
  for (std::size_t i = sizes.min_bytes; i < n; ++i) {
    if (b[i] == b[i - 1]) continue;
    if ((b[i] > b[i - 1]) != rule.decreasing) {
      if (++run == rule.length) return i;
    } else {
      run = 0;
      if (++opposite % rule.trigger == 0) i += rule.skip;
    }
  }
  return n;
}

// All cuts, by one of the definitions: length(b, n).
template <class Length>
Ends defined_cuts(ByteSpan data, std::size_t max_bytes, Length length) {
  Ends ends;
  for (std::size_t start = 0; start < data.size();) {
    start += length(data.data() + start, std::min(data.size() - start, max_bytes));
    ends.push_back(start);
  }
  return ends;
}

}  // namespace dedupfs
