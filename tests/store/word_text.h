// Text for tests of compression: words of a small vocabulary in random order. The harder a compressor looks for matches, the less it
// makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/bytes.h"
#include "sample_region.h"

namespace dedupfs {

// Exactly `size` bytes; the same for the same seed.
inline ByteBuffer word_text(std::size_t size, std::uint64_t seed) {
  static const std::vector<ByteBuffer> vocabulary = [] {
    std::vector<ByteBuffer> words;
    for (std::uint64_t word = 0; word < 3000; ++word) words.push_back(random_bytes(2 + word % 6, word));
    return words;
  }();
  std::mt19937_64 random(seed);
  ByteBuffer text;
  while (text.size() < size) {
    const ByteBuffer& word = vocabulary[random() % vocabulary.size()];
    text.insert(text.end(), word.begin(), word.end());
  }
  text.resize(size);
  return text;
}

}  // namespace dedupfs
