// The candidates for cuts in a range of data: marked by the first stage of a two-stage chunker, read by the second.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "chunkers/kernels/kernels.h"

namespace dedupfs {

// A kernel with the mask that its hashes are tested with.
struct CandidateMarker {
  simd::CandidateScan* run;
  std::uint64_t mask;
  std::size_t block_bytes;  // that the kernel likes to be given at once
};

class Candidates {
 public:
  // Marks one block at a time, as first() asks. So the bitmap stays in the cache, and bytes that the second stage skips because
  // of the minimum size are not scanned.
  Candidates(ByteSpan data, const CandidateMarker& marker)
      : data_(data),
        marker_(marker),
        own_bits_(std::make_unique_for_overwrite<std::uint64_t[]>(marker.block_bytes / 64)),
        bits_(own_bits_.get()) {}

  // Marked already, all of it.
  Candidates(ByteSpan data, const std::uint64_t* bits) : data_(data), bits_(bits), block_end_(data.size()) {}

  // The first candidate in [from, to), else `to`. In front of data[from] are all the bytes
  // that its hash depends on.
  std::size_t first(std::size_t from, std::size_t to) {
    while (from < to) {
      if (from < block_begin_ || from >= block_end_) mark_block(from);
      const std::size_t stop = std::min(to, block_end_);
      const std::size_t found = first_set(from - block_begin_, stop - block_begin_) + block_begin_;
      if (found < stop) return found;
      from = stop;
    }
    return to;
  }

 private:
  void mark_block(std::size_t from) {
    block_begin_ = from;
    block_end_ = std::min(from + marker_.block_bytes, data_.size());
    marker_.run(data_.data() + from, block_end_ - from, marker_.mask, own_bits_.get());
  }

  std::size_t first_set(std::size_t from, std::size_t to) const {
    const std::size_t words = (to + 63) / 64;
    std::uint64_t word = bits_[from / 64] & (~std::uint64_t{0} << (from % 64));
    for (std::size_t i = from / 64;;) {
      if (word != 0) return std::min(i * 64 + static_cast<std::size_t>(std::countr_zero(word)), to);
      // Four at a time: 64 MiB of crc candidates, avg 16k, take 0.4 ms on Zen 4, not 1.15.
      for (++i; i + 4 <= words; i += 4)
        if ((bits_[i] | bits_[i + 1] | bits_[i + 2] | bits_[i + 3]) != 0) break;
      if (i == words) return to;
      word = bits_[i];
    }
  }

  ByteSpan data_;
  CandidateMarker marker_ = {};
  std::unique_ptr<std::uint64_t[]> own_bits_;
  const std::uint64_t* bits_;
  std::size_t block_begin_ = 0;
  std::size_t block_end_ = 0;  // bits_ describe [block_begin_, block_end_)
};

}  // namespace dedupfs
