// Sets of chunks, at one bit for each id up to the greatest: ids are dense but for rare gaps.
//
// Threads: one user at a time.
// Memory:  an eighth of the greatest id that is inserted, and up to half of that again: check ids that come from a disk.
#pragma once

#include <cstdint>
#include <vector>

#include "store/types.h"

namespace dedupfs {

class ChunkSet {
 public:
  // True if it was not there.
  bool insert(ChunkId id) {
    const std::uint64_t word = number_of(id) / 64;
    if (word >= words_.size()) words_.resize(word + 1 + word / 2);
    const std::uint64_t bit = std::uint64_t{1} << (number_of(id) % 64);
    if ((words_[word] & bit) != 0) return false;
    words_[word] |= bit;
    return true;
  }
  bool contains(ChunkId id) const {
    const std::uint64_t word = number_of(id) / 64;
    return word < words_.size() && (words_[word] >> (number_of(id) % 64) & 1) != 0;
  }
  bool empty() const { return words_.empty(); }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace dedupfs
