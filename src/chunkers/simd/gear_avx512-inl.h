// The candidate scan of Gear in AVX-512 with VBMI. Included by kernels_avx512.cc only.
//
// The table is looked up by shuffles, because a gather fetches one entry after the other. They look up one byte plane
// of the table at a time: its 256 bytes are four registers. AVX2 has no shuffle over more than 16 entries. There
// shuffles pay for a single plane only (gear_low).
#pragma once

#include "chunkers/reference/gear.h"
#include "chunkers/simd/byte_vec_avx512.h"

namespace dedupfs::simd {
namespace {

using reference::clear_bits;
using reference::gear_chain;
using reference::set_bit;

// The 64 bytes before p. The first of them has no part in any hash, and must not be read.
inline __m512i load_before(const std::uint8_t* p) {
  return _mm512_maskz_loadu_epi8(~__mmask64{1}, p - 64);
}

// ---- Masks above 2^16: segments side by side, one in each lane, by the plain recurrence.
//
// A hash depends on kRowBytes bytes. A row is so many bytes of each segment. Rows are transposed: then a register (a
// column) has the next few bytes of every segment. The first row is the warm-up. It lies in front of the segments. Zen
// 4, random data in cache: 3.5 GB/s with 64 bits, 6.3 with 32 (scalar: 3.1). To double windows up to 32 bytes, as
// below, gave half of that.

// Any mask: eight segments in lanes of 64 bits.
struct QwordLanes {
  static constexpr std::size_t kLanes = 8, kLaneBytes = 8, kRowBytes = 64;

  static __m512i splat(std::uint64_t mask) { return _mm512_set1_epi64(static_cast<long long>(mask)); }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
  static unsigned disjoint(__m512i lanes, __m512i masks) { return _mm512_testn_epi64_mask(lanes, masks); }

  // Column k holds bytes [8k, 8k + 8) of the rows that begin `stride` bytes apart.
  static void load_columns(const std::uint8_t* rows, std::size_t stride, bool warm_up, __m512i (&r)[8]) {
    r[0] = warm_up ? load_before(rows + kRowBytes) : _mm512_loadu_si512(rows);
    for (std::size_t i = 1; i < kLanes; ++i) r[i] = _mm512_loadu_si512(rows + i * stride);
    transpose(r);
  }

  // The table entries of the bytes of each lane: entries[k] holds that of byte k, lane by lane.
  static void look_up(__m512i bytes, __m512i (&entries)[8]) {
    // Pair the bytes of neighbouring lanes, so that the unpacking below ends with the lanes in place.
    bytes = _mm512_shuffle_epi8(
        bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)));
    __m512i plane[8];
    for (int i = 0; i < 8; ++i) plane[i] = ByteVec64::Table(kGearTable.planes[i]).look_up({bytes}).v;

    __m512i word[2][4];  // [half of the bytes][planes 2i and 2i + 1]
    for (int i = 0; i < 4; ++i) {
      word[0][i] = _mm512_unpacklo_epi8(plane[2 * i], plane[2 * i + 1]);
      word[1][i] = _mm512_unpackhi_epi8(plane[2 * i], plane[2 * i + 1]);
    }
    for (int half = 0; half < 2; ++half) {
      const __m512i low[2] = {_mm512_unpacklo_epi16(word[half][0], word[half][1]),
                              _mm512_unpackhi_epi16(word[half][0], word[half][1])};
      const __m512i high[2] = {_mm512_unpacklo_epi16(word[half][2], word[half][3]),
                               _mm512_unpackhi_epi16(word[half][2], word[half][3])};
      for (int quarter = 0; quarter < 2; ++quarter) {
        entries[4 * half + 2 * quarter] = _mm512_unpacklo_epi32(low[quarter], high[quarter]);
        entries[4 * half + 2 * quarter + 1] = _mm512_unpackhi_epi32(low[quarter], high[quarter]);
      }
    }
  }

 private:
  static void transpose(__m512i (&r)[8]) {
    __m512i s[8], t[8];
    for (int i = 0; i < 8; i += 2) {
      s[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
      s[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
      for (int k = 0; k < 2; ++k) {
        t[i + k] = _mm512_shuffle_i64x2(s[i + k], s[i + 2 + k], 0x88);
        t[i + 2 + k] = _mm512_shuffle_i64x2(s[i + k], s[i + 2 + k], 0xdd);
      }
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm512_shuffle_i64x2(t[i], t[i + 4], 0x88);
      r[i + 4] = _mm512_shuffle_i64x2(t[i], t[i + 4], 0xdd);
    }
  }
};

// Masks below 2^32: sixteen segments in lanes of 32 bits.
struct DwordLanes {
  static constexpr std::size_t kLanes = 16, kLaneBytes = 4, kRowBytes = 32;

  static __m512i splat(std::uint64_t mask) { return _mm512_set1_epi32(static_cast<int>(mask)); }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  static unsigned disjoint(__m512i lanes, __m512i masks) { return _mm512_testn_epi32_mask(lanes, masks); }

  // Column k holds bytes [4k, 4k + 4) of the rows that begin `stride` bytes apart.
  static void load_columns(const std::uint8_t* rows, std::size_t stride, bool /*warm_up*/, __m512i (&r)[8]) {
    const auto load_quarters = [&](std::size_t row, std::size_t at) {
      const std::uint8_t* p = rows + row * stride + at;
      const auto quarter = [&](std::size_t i) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * i * stride));
      };
      __m512i all = _mm512_castsi128_si512(quarter(0));
      all = _mm512_mask_broadcast_i32x4(all, 0x00f0, quarter(1));
      all = _mm512_mask_broadcast_i32x4(all, 0x0f00, quarter(2));
      return _mm512_mask_broadcast_i32x4(all, 0xf000, quarter(3));
    };
    for (std::size_t half = 0; half < 2; ++half) {
      __m512i s[4], t[4];
      for (std::size_t i = 0; i < 4; ++i) s[i] = load_quarters(i, 16 * half);
      for (std::size_t i = 0; i < 4; i += 2) {
        t[i] = _mm512_unpacklo_epi32(s[i], s[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(s[i], s[i + 1]);
      }
      for (std::size_t i = 0; i < 2; ++i) {
        r[4 * half + 2 * i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[4 * half + 2 * i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
      }
    }
  }

  static void look_up(__m512i bytes, __m512i (&entries)[4]) {
    // Gather the first, second ... bytes of four lanes, so that the unpacking ends with the lanes in place.
    bytes = _mm512_shuffle_epi8(
        bytes, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
    __m512i plane[4];
    for (int i = 0; i < 4; ++i) plane[i] = ByteVec64::Table(kGearTable.planes[i]).look_up({bytes}).v;
    const __m512i low[2] = {_mm512_unpacklo_epi8(plane[0], plane[1]), _mm512_unpackhi_epi8(plane[0], plane[1])};
    const __m512i high[2] = {_mm512_unpacklo_epi8(plane[2], plane[3]), _mm512_unpackhi_epi8(plane[2], plane[3])};
    for (int half = 0; half < 2; ++half) {
      entries[2 * half] = _mm512_unpacklo_epi16(low[half], high[half]);
      entries[2 * half + 1] = _mm512_unpackhi_epi16(low[half], high[half]);
    }
  }
};

template <class Lanes>
void mark_lanes(const __m512i (&hashes)[Lanes::kLaneBytes], __m512i masks, std::size_t segment, std::size_t i,
                std::uint64_t* bits) {
  for (std::size_t k = 0; k < Lanes::kLaneBytes; ++k)
    for (unsigned lanes = Lanes::disjoint(hashes[k], masks); lanes != 0; lanes &= lanes - 1)
      set_bit(static_cast<std::size_t>(__builtin_ctz(lanes)) * segment + i + k, bits);
}

template <class Lanes>
void gear_transposed(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  constexpr std::size_t kLanes = Lanes::kLanes, kRow = Lanes::kRowBytes, kLaneBytes = Lanes::kLaneBytes;
  const std::size_t segment = n / (kLanes * kRow) * kRow;
  clear_bits(n, bits);

  if (segment != 0) {
    const __m512i masks = Lanes::splat(mask);
    __m512i hash = _mm512_setzero_si512();
    for (std::size_t row = 0; row <= segment; row += kRow) {
      __m512i columns[kRow / kLaneBytes];
      Lanes::load_columns(p + row - kRow, segment, row == 0, columns);
      // The hardware cannot foresee so many streams. So fetch the bytes behind this range, which the next call will
      // read. From DRAM on Zen 5, 64-bit lanes: 2.4 GB/s without, 6.2 with.
      for (std::size_t line = 0; line < kLanes * kRow; line += 64) __builtin_prefetch(p + n + kLanes * row + line);
      for (std::size_t column = 0; column < kRow / kLaneBytes; ++column) {
        __m512i hashes[kLaneBytes];
        Lanes::look_up(columns[column], hashes);
        unsigned candidates = 0;
        for (__m512i& entry : hashes) {
          hash = entry = Lanes::add(Lanes::add(hash, hash), entry);
          candidates |= Lanes::disjoint(hash, masks);
        }
        if (row != 0 && candidates != 0) [[unlikely]]
          mark_lanes<Lanes>(hashes, masks, segment, row - kRow + column * kLaneBytes, bits);
      }
    }
  }
  gear_chain(p + kLanes * segment, n - kLanes * segment, mask, kLanes * segment, bits);
}

// ---- Masks below 2^16: positions side by side, by doubled windows. Sums modulo 2^16 are enough.
//
// Let h_w(i) be the hash of the w bytes that end with byte i. Then h_2w(i) = h_w(i) + (h_w(i - w) << w). Two registers
// of 16-bit lanes hold the even and the odd positions of a run of 64 bytes. So a shift by w positions is a shift by
// half as many lanes. For w = 1 only one of the two registers needs a shift.

struct Run {
  __m512i even, odd;
};

// The lanes of `now`, moved up by kLanes. The last lanes of `before` come in below.
template <int kLanes>
inline __m512i shift_in(__m512i now, __m512i before) {
  if constexpr (kLanes == 1) {
    const __m512i index = _mm512_add_epi16(
        _mm512_set1_epi16(31), _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
                                                13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    return _mm512_permutex2var_epi16(before, index, now);
  } else if constexpr (kLanes == 2) {
    return _mm512_alignr_epi32(now, before, 15);
  } else {
    static_assert(kLanes == 4);
    return _mm512_alignr_epi64(now, before, 7);
  }
}

template <int kWindow>
inline Run doubled(const Run& now, const Run& before) {
  const auto add_older = [](__m512i hash, __m512i now_lanes, __m512i before_lanes) {
    return _mm512_add_epi16(hash, _mm512_slli_epi16(shift_in<kWindow / 2>(now_lanes, before_lanes), kWindow));
  };
  return {add_older(now.even, now.even, before.even), add_older(now.odd, now.odd, before.odd)};
}

class Gear16Doubling {
 public:
  Gear16Doubling() : low_(kGearTable.planes[0]), high_(kGearTable.planes[1]) {}

  // The hashes of 64 bytes, which follow those of the call before.
  Run next(__m512i bytes) {
    const __m512i low = low_.look_up({bytes}).v, high = high_.look_up({bytes}).v;
    constexpr __mmask64 kOddBytes = 0xaaaaaaaaaaaaaaaa;
    const Run h1 = {_mm512_mask_blend_epi8(kOddBytes, low, _mm512_slli_epi16(high, 8)),
                    _mm512_mask_blend_epi8(kOddBytes, _mm512_srli_epi16(low, 8), high)};
    const __m512i odd_before = shift_in<1>(h1.odd, h1_odd_);
    const Run h2 = {_mm512_add_epi16(h1.even, _mm512_add_epi16(odd_before, odd_before)),
                    _mm512_add_epi16(h1.odd, _mm512_add_epi16(h1.even, h1.even))};
    const Run h4 = doubled<2>(h2, h2_);
    const Run h8 = doubled<4>(h4, h4_);
    const Run h16 = doubled<8>(h8, h8_);
    h1_odd_ = h1.odd, h2_ = h2, h4_ = h4, h8_ = h8;
    return h16;
  }

 private:
  ByteVec64::Table low_, high_;
  __m512i h1_odd_ = _mm512_setzero_si512();  // of the call before
  Run h2_ = {}, h4_ = {}, h8_ = {};
};

inline void gear_narrow(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  const std::size_t whole = n / 64 * 64;
  const __m512i masks = _mm512_set1_epi16(static_cast<short>(mask));
  Gear16Doubling gear;
  gear.next(load_before(p));  // only to warm up
  for (std::size_t i = 0; i < whole; i += 64) {
    __builtin_prefetch(p + i + 4096);  // from DRAM on Zen 5: 14.3 GB/s without, 16.6 with
    const Run hash = gear.next(_mm512_loadu_si512(p + i));
    bits[i / 64] = _pdep_u64(_mm512_testn_epi16_mask(hash.even, masks), 0x5555555555555555) |
                   _pdep_u64(_mm512_testn_epi16_mask(hash.odd, masks), 0xaaaaaaaaaaaaaaaa);
  }
  if (n == whole) return;
  bits[whole / 64] = 0;
  gear_chain(p + whole, n - whole, mask, whole, bits);
}

}  // namespace
}  // namespace dedupfs::simd
