// The two stages of SS-CDC over Gear (Ni, Lin, Jiang: "SS-CDC: a two-stage parallel content-defined chunking for
// deduplicating backup storage", SYSTOR '19): the first finds, in parallel, all positions whose hash asks for a cut,
// whatever chunk they are in; the second, sequential, picks those that minimum and maximum allow.
//
// The first stage runs a block ahead of the second, not over the whole data: the bitmap stays in the L1 cache, and what
// the minimum lets the second stage jump over is not scanned. That makes no difference to what is found.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "chunkers/simd/kernels.h"

namespace dedupfs {

class CandidateScan {
 public:
  CandidateScan(ByteSpan data, std::uint64_t mask, const simd::Kernels& kernels)
      : data_(data), mask_(mask), kernels_(kernels) {}

  // The first position in [from, to) whose hash has no bit of the mask, else `to`. The hash covers the bytes up to and
  // with that position. `from` is at least simd::kGearLookBackBytes and never smaller than in an earlier call.
  std::size_t first(std::size_t from, std::size_t to) {
    while (from < to) {
      if (from >= block_end_) scan_block(from);
      const std::size_t stop = std::min(to, block_end_);
      const std::size_t found = first_set(from - block_begin_, stop - block_begin_) + block_begin_;
      if (found < stop) return found;
      from = stop;
    }
    return to;
  }

 private:
  static constexpr std::size_t kBlockBytes = 4096;

  void scan_block(std::size_t from) {
    block_begin_ = from;
    block_end_ = std::min(from + kBlockBytes, data_.size());
    kernels_.gear_candidates(data_.data() + from, block_end_ - from, mask_, bits_);
  }

  std::size_t first_set(std::size_t from, std::size_t to) const {
    const std::size_t words = (to + 63) / 64;
    std::uint64_t word = bits_[from / 64] & (~std::uint64_t{0} << (from % 64));
    for (std::size_t i = from / 64;;) {
      if (word != 0) return std::min(i * 64 + static_cast<std::size_t>(std::countr_zero(word)), to);
      if (++i == words) return to;
      word = bits_[i];
    }
  }

  ByteSpan data_;
  std::uint64_t mask_;
  const simd::Kernels& kernels_;
  std::size_t block_begin_ = 0;
  std::size_t block_end_ = 0;  // bits_ describe [block_begin_, block_end_)
  std::uint64_t bits_[kBlockBytes / 64];
};

}  // namespace dedupfs
