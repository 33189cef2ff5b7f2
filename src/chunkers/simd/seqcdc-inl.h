// SeqCDC over any byte vector; see reference/seqcdc.h. Included once by each kernels_ISA.cc, behind its byte_vec_ISA.h.
//
// The vectors only compare neighbours, 64 pairs at a time. This gives words of 64 bits, and the rest works on these
// words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunkers/kernels/kernels.h"

namespace dedupfs::simd {
namespace {

// The minimum and the skips hide the stream from the hardware. So the code fetches all of it. It also fetches skipped
// bytes, because the next chunk may begin anywhere. From DRAM on Zen 4 (read limit 25 GB/s, avg=8k, AVX-512): 8.6 GB/s
// without, 14 with 4096 bytes ahead, 18 to 20 with 8192. Many lines are fetched at a time, to catch up soon after a
// minimum: with 4 lines it is 14 GB/s. From the cache it is 5 to 10 % slower than without.
constexpr std::size_t kSeqCdcFetchAheadBytes = 8192;
constexpr std::size_t kSeqCdcLinesAtOnce = 16;

inline std::size_t lowest_bit(std::uint64_t word) {
  return static_cast<std::size_t>(__builtin_ctzll(word));
}

inline std::size_t count_bits(std::uint64_t word) {
#if defined(__x86_64__) && !defined(__POPCNT__)
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return word * 0x0101010101010101 >> 56;
#else
  return static_cast<std::size_t>(__builtin_popcountll(word));
#endif
}

// The position of the k-th one, k in [1, count_bits(word)].
inline std::size_t kth_bit(std::uint64_t word, std::size_t k) {
#if defined(__AVX512F__)  // AVX2 CPUs up to Zen 2 have it in microcode; on Zen 4 it gains 5 % in cache
  return lowest_bit(_pdep_u64(std::uint64_t{1} << (k - 1), word));
#else
  // Halves the range six times. The count of ones in the lower half says which half has the k-th one.
  const std::uint64_t in_2 = word - (word >> 1 & 0x5555555555555555);
  const std::uint64_t in_4 = (in_2 & 0x3333333333333333) + (in_2 >> 2 & 0x3333333333333333);
  const std::uint64_t in_8 = (in_4 + (in_4 >> 4)) & 0x0f0f0f0f0f0f0f0f;
  const std::uint64_t in_16 = (in_8 + (in_8 >> 8)) & 0x00ff00ff00ff00ff;
  const std::uint64_t in_32 = (in_16 + (in_16 >> 16)) & 0x0000ffff0000ffff;
  std::size_t at = 0;
  const auto descend = [&](std::uint64_t counts, std::size_t half) {
    const std::size_t below = counts >> at & (2 * half - 1);
    const bool above = k > below;
    k -= above ? below : 0;
    at += above ? half : 0;
  };
  descend(in_32, 32);
  descend(in_16, 16);
  descend(in_8, 8);
  descend(in_4, 4);
  descend(in_2, 2);
  descend(word, 1);
  return at;
#endif
}

// Of 64 neighbouring pairs (b[i - 1], b[i]): those in sequence, and those against it. The others are equal.
struct Pairs {
  std::uint64_t with, against;
};

template <class Vec, bool kIncreasing>
Pairs compare_pairs(const std::uint8_t* p) {
  Pairs pairs = {0, 0};
  for (std::size_t i = 0; i < 64; i += Vec::kWidth) {
    const Vec before = Vec::load(p + i - 1), here = Vec::load(p + i);
    pairs.with |= (kIncreasing ? gt_bits(here, before) : gt_bits(before, here)) << i;
    pairs.against |= (kIncreasing ? gt_bits(before, here) : gt_bits(here, before)) << i;
  }
  return pairs;
}

// For fewer than 64 pairs. Missing pairs are given as equal pairs, which change nothing.
template <class Vec, bool kIncreasing>
Pairs compare_last_pairs(const std::uint8_t* p, std::size_t n) {
  std::uint8_t bytes[1 + 64];
  const std::uint8_t* before = p - 1;
  for (std::size_t i = 0; i < 1 + 64; ++i) bytes[i] = before[i < n ? i : n];
  return compare_pairs<Vec, kIncreasing>(bytes + 1);
}

// The pairs at which a run has at least `length` pairs. The `run` pairs in front of these, fewer than `length`, have
// begun one.
inline std::uint64_t ends_of_runs(Pairs pairs, std::size_t run, std::size_t length) {
  const std::uint64_t equal = ~(pairs.with | pairs.against);
  std::uint64_t carry = (std::uint64_t{1} << run) - 1;
  std::uint64_t ends = pairs.with;  // of runs of k pairs
  for (std::size_t k = 1; k < length; ++k) {
    ends = pairs.with & (2 * ends + (carry & 1) + equal);  // the addition carries a one past the equal pairs behind it
    carry >>= 1;
  }
  return ends;
}

// The length of the run with which these pairs end.
inline std::size_t run_behind(Pairs pairs, std::size_t run) {
  if (pairs.against == 0) return run + count_bits(pairs.with);
  const int last = 63 - __builtin_clzll(pairs.against);
  return count_bits(pairs.with >> last);
}

template <class Vec, bool kIncreasing>
std::size_t seqcdc(const std::uint8_t* p, std::size_t n, const SeqCdcParameters& parameters) {
  const std::size_t min = parameters.min_bytes;
  std::size_t run = 0, until_skip = parameters.skip_trigger;
  std::size_t fetched = min > kSeqCdcFetchAheadBytes ? min : kSeqCdcFetchAheadBytes;  // the chunk before fetched so far
  for (std::size_t i = min; i < n;) {
    for (std::size_t line = 0; line < kSeqCdcLinesAtOnce && fetched < i + kSeqCdcFetchAheadBytes; ++line) {
      __builtin_prefetch(p + fetched);
      fetched += 64;
    }
    const Pairs pairs =
        n - i >= 64 ? compare_pairs<Vec, kIncreasing>(p + i) : compare_last_pairs<Vec, kIncreasing>(p + i, n - i);
    const std::uint64_t ends = ends_of_runs(pairs, run, parameters.length);
    const std::size_t against = count_bits(pairs.against);
    if (against >= until_skip) {
      const std::size_t last = kth_bit(pairs.against, until_skip);
      if ((ends & ((std::uint64_t{1} << last) - 1)) != 0) return i + lowest_bit(ends);
      i += last + 1 + parameters.skip_bytes;
      run = 0;
      until_skip = parameters.skip_trigger;
    } else {
      if (ends != 0) return i + lowest_bit(ends);
      i += 64;
      run = run_behind(pairs, run);
      until_skip -= against;
    }
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs::simd
