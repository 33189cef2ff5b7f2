// The candidate scan of Toga (toga_hash.h) over any byte vector. Included once by each kernels_ISA.cc, behind its
// byte_vec_ISA.h. The hashes of the 64 columns are computed side by side, a row at a time. The rows are counted from p,
// whatever its alignment. Memory is read in order, and the hardware foresees that. Fetching 1 to 8 KiB ahead made it a
// tenth slower from DRAM (Zen 4, AVX2 and AVX-512).
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunkers/kernels/toga_hash.h"
#include "chunkers/reference/bits.h"

namespace dedupfs::simd {
namespace {

static_assert(kTogaRowBytes == 64 && kTogaRun == 64);  // a word of the bitmap is a row, and a run

// The hashes of the row that was last seen.
template <class Vec>
class TogaHashes {
 public:
  explicit TogaHashes(const std::uint8_t* row) {
    for (std::size_t i = 0; i < kVectors; ++i) hashes_[i] = Vec::load(row + i * Vec::kWidth);
  }

  void enter(const std::uint8_t* row) {
    for (std::size_t i = 0; i < kVectors; ++i) hashes_[i] = rotated_left(hashes_[i]) ^ Vec::load(row + i * Vec::kWidth);
  }

  void enter_and_leave(const std::uint8_t* row, const std::uint8_t* leaving) {
    for (std::size_t i = 0; i < kVectors; ++i)
      hashes_[i] = rotated_left(hashes_[i]) ^ (Vec::load(row + i * Vec::kWidth) ^ Vec::load(leaving + i * Vec::kWidth));
  }

  std::uint64_t below(Vec limit) const {
    std::uint64_t passes = 0;
    for (std::size_t i = 0; i < kVectors; ++i) passes |= ge_bits(hashes_[i], limit) << (i * Vec::kWidth);
    return ~passes;
  }

 private:
  static constexpr std::size_t kVectors = kTogaRowBytes / Vec::kWidth;
  Vec hashes_[kVectors];
};

// Bit i: the 64 hashes that end with number i of this row all pass. The arguments say which hashes of the row before,
// and of this row, fail.
inline std::uint64_t ends_of_passing_runs(std::uint64_t fails_before, std::uint64_t fails) {
  const std::uint64_t before_first = (fails - 1) & ~fails;
  // No run reaches back to the first hash of the row before. So it may count as a failure. Then there is always a last
  // failure.
  const int after_last = __builtin_clzll(fails_before | 1);
  return before_first & static_cast<std::uint64_t>(INT64_MIN >> after_last);
}

template <class Vec>
void toga(const std::uint8_t* p, std::size_t n, std::uint64_t limit, std::uint64_t* bits) {
  if (n == 0) return;
  if (limit > 255) {
    reference::clear_bits(n, bits);
    return;
  }
  const Vec bound = Vec::splat(static_cast<std::uint8_t>(limit));

  // The byte 512 in front of p has no part in any run, and must not be read. Any value can stand for it.
  constexpr std::size_t kWindow = kTogaRows * kTogaRowBytes;
  std::uint8_t first[kTogaRowBytes];
  first[0] = 0;
  __builtin_memcpy(first + 1, p - kWindow + 1, kTogaRowBytes - 1);
  TogaHashes<Vec> hashes(first);
  for (std::size_t back = kWindow - kTogaRowBytes; back != 0; back -= kTogaRowBytes) hashes.enter(p - back);
  std::uint64_t fails_before = hashes.below(bound);
  const std::uint8_t* leaving = first;

  std::size_t i = 0;
  for (; i + kTogaRowBytes <= n; i += kTogaRowBytes) {
    hashes.enter_and_leave(p + i, leaving);
    const std::uint64_t fails = hashes.below(bound);
    bits[i / 64] = ends_of_passing_runs(fails_before, fails);
    fails_before = fails;
    leaving = p + i + kTogaRowBytes - kWindow;
  }
  if (i == n) return;
  std::uint8_t last[kTogaRowBytes] = {};
  __builtin_memcpy(last, p + i, n - i);
  hashes.enter_and_leave(last, leaving);
  bits[i / 64] = ends_of_passing_runs(fails_before, hashes.below(bound)) & ~(~std::uint64_t{0} << (n - i));
}

}  // namespace
}  // namespace dedupfs::simd
