// The candidate scans of SS-CDC as its paper has them (Ni, Lin, Jiang, SYSTOR '19, section 3.2): each lane of a register
// runs the byte-by-byte hash over a segment of its own and gathers its table entries from memory. For study: a gather
// fetches one entry after the other, so the other kernels, which have none, are several times as fast
// (docs/chunkers.md). Included by kernels_avx512_gather.cc only.
#pragma once

#include <immintrin.h>

#include "chunkers/kernels/kernels.h"
#include "chunkers/reference/crc.h"
#include "chunkers/reference/gear.h"

// Without optimisation GCC's gathers are macros, and the conversions in them are taken for ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

namespace dedupfs::simd {
namespace {

// Eight 64-bit hashes.
inline void gear_gathered(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  constexpr std::size_t kLanes = 8, kStep = 8;
  const std::size_t segment = n / (kLanes * kStep) * kStep;
  reference::clear_bits(n, bits);

  std::uint64_t warmed_up[kLanes] = {};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (std::size_t i = 0; i < kGearLookBackBytes; ++i)
      warmed_up[lane] = gear_step(warmed_up[lane], *(p + lane * segment + i - kGearLookBackBytes));
  __m512i hash = _mm512_loadu_si512(warmed_up);
  const __m512i starts =
      _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(static_cast<long long>(segment)));
  const __m512i masks = _mm512_set1_epi64(static_cast<long long>(mask));
  for (std::size_t i = 0; i < segment; i += kStep) {
    __m512i bytes = _mm512_i64gather_epi64(starts, p + i, 1);
    for (std::size_t k = 0; k < kStep; ++k, bytes = _mm512_srli_epi64(bytes, 8)) {
      const __m512i index = _mm512_and_si512(bytes, _mm512_set1_epi64(0xff));
      hash = _mm512_add_epi64(_mm512_add_epi64(hash, hash), _mm512_i64gather_epi64(index, kGearTable.entries, 8));
      for (unsigned hits = _mm512_testn_epi64_mask(hash, masks); hits != 0; hits &= hits - 1)
        reference::set_bit(static_cast<std::size_t>(__builtin_ctz(hits)) * segment + i + k, bits);
    }
  }
  reference::gear_chain(p + kLanes * segment, n - kLanes * segment, mask, kLanes * segment, bits);
}

// Sixteen CRCs. A segment is whole words of the bitmap, so that the rest can be left to the plain form.
inline void crc_gathered(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  constexpr std::size_t kLanes = 16, kStep = 4, kWord = 64;
  const std::size_t segment = n / (kLanes * kWord) * kWord;
  reference::clear_bits(n, bits);

  std::uint32_t warmed_up[kLanes] = {};
  for (std::size_t lane = 0; segment != 0 && lane < kLanes; ++lane)
    for (std::size_t i = 0; i < kCrcLookBackBytes; ++i)
      warmed_up[lane] = reference::crc_step(warmed_up[lane], *(p + lane * segment + i - kCrcLookBackBytes));
  __m512i crc = _mm512_loadu_si512(warmed_up);
  const __m512i starts = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                            _mm512_set1_epi32(static_cast<int>(segment)));
  const __m512i masks = _mm512_set1_epi32(static_cast<int>(mask));
  const __m512i low_byte = _mm512_set1_epi32(0xff);
  for (std::size_t i = 0; i < segment; i += kStep) {
    __m512i bytes = _mm512_i32gather_epi32(starts, p + i, 1);
    // The byte that leaves the window at the first byte of a segment lies before the readable range; it is not in the hash.
    const std::uint8_t* leaving_from = p + i - kCrcWindowBytes;
    __m512i leaving = i == 0 ? _mm512_slli_epi32(_mm512_i32gather_epi32(starts, leaving_from + 1, 1), 8)
                             : _mm512_i32gather_epi32(starts, leaving_from, 1);
    for (std::size_t k = 0; k < kStep; ++k) {
      const __m512i in = _mm512_and_si512(_mm512_xor_si512(crc, bytes), low_byte);
      crc = _mm512_xor_si512(_mm512_srli_epi32(crc, 8), _mm512_i32gather_epi32(in, kCrcTables.in, 4));
      if (i + k > 0)
        crc = _mm512_xor_si512(crc, _mm512_i32gather_epi32(_mm512_and_si512(leaving, low_byte), kCrcTables.out, 4));
      bytes = _mm512_srli_epi32(bytes, 8);
      leaving = _mm512_srli_epi32(leaving, 8);
      for (unsigned hits = _mm512_testn_epi32_mask(crc, masks); hits != 0; hits &= hits - 1)
        reference::set_bit(static_cast<std::size_t>(__builtin_ctz(hits)) * segment + i + k, bits);
    }
  }
  const std::size_t done = kLanes * segment;
  if (done < n) reference::crc(p + done, n - done, mask, bits + done / kWord);
}

}  // namespace
}  // namespace dedupfs::simd
#pragma GCC diagnostic pop
