// A bit for each chunk id below some end, all clear at first.
//
// Threads: one user at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "store/types.h"

namespace dedupfs {

class ChunkBits {
 public:
  explicit ChunkBits(std::uint64_t end) : end_(end), words_((end + 63) / 64) {}

  std::uint64_t end() const { return end_; }
  bool test(ChunkId id) const {
    const std::uint64_t number = number_of(id);
    return number < end_ && (words_[number / 64] >> (number % 64) & 1) != 0;
  }
  // Ids from the end on are passed over.
  void set(ChunkId id) {
    const std::uint64_t number = number_of(id);
    if (number < end_) words_[number / 64] |= std::uint64_t{1} << (number % 64);
  }
  bool any() const {
    return std::ranges::any_of(words_, [](std::uint64_t word) { return word != 0; });
  }

 private:
  std::uint64_t end_;
  std::vector<std::uint64_t> words_;
};

}  // namespace dedupfs
