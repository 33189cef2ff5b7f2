// Byte patterns for chunker tests, and ways to cut them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "chunkers/chunker.h"
#include "support/random_bytes.h"

namespace dedupfs {

// Name and bytes: what chunkers find easy, and what breaks them.
inline std::vector<std::pair<std::string, ByteBuffer>> patterns(std::size_t n, std::uint64_t seed) {
  std::vector<std::pair<std::string, ByteBuffer>> all;
  all.emplace_back("random", random_bytes(n, seed));
  all.emplace_back("zeros", ByteBuffer(n, 0));
  all.emplace_back("all 255", ByteBuffer(n, 255));
  ByteBuffer ramp(n), falling(n), periodic(n), nearly_maximal(n);
  const ByteBuffer period = random_bytes(97, seed + 1);
  const ByteBuffer rare = random_bytes(n, seed + 2);
  for (std::size_t i = 0; i < n; ++i) {
    ramp[i] = static_cast<std::uint8_t>(i);
    falling[i] = static_cast<std::uint8_t>(255 - i * 256 / (n + 1));
    periodic[i] = period[i % period.size()];
    nearly_maximal[i] = rare[i] == 7 ? 255 : 254;
  }
  all.emplace_back("ramp", std::move(ramp));
  all.emplace_back("falling", std::move(falling));
  all.emplace_back("periodic", std::move(periodic));
  all.emplace_back("nearly maximal", std::move(nearly_maximal));
  all.emplace_back("text-like", random_bytes(n, seed + 3, 20));
  return all;
}

// A name for Google Test, which allows letters, digits and underscores.
inline std::string identifier(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

using Ends = std::vector<std::size_t>;

inline Ends cuts(const Chunker& chunker, ByteSpan data) {
  Ends ends;
  chunker.split(data, true, ends);
  return ends;
}

// The cuts when the data comes in pieces, as a stream brings it. next_piece(rest) says how long the next one is.
template <class NextPiece>
Ends cuts_in_pieces(const Chunker& chunker, ByteSpan data, NextPiece next_piece) {
  Ends ends;
  std::size_t start = 0, seen = 0;
  do {
    seen += next_piece(data.size() - seen);
    Ends more;
    const std::size_t used = chunker.split(data.subspan(start, seen - start), seen == data.size(), more);
    for (const std::size_t end : more) ends.push_back(start + end);
    start += used;
  } while (seen < data.size());
  return ends;
}

}  // namespace dedupfs
