// The candidate scan of Gear for masks with all of bits 0 to 7, by a filter that sees only those bits.
//
// These bits depend on the last eight bytes, and on the low byte of each table entry. Let h_w(i) be the low byte of the
// hash of the w bytes that end with byte i. Then h_2w(i) = h_w(i) + (h_w(i - w) << w). Three such steps lead from h_1
// to h_8, for a register of positions at once. One position of 256 passes the filter. Its hash is then computed in
// full.
#pragma once

#include "chunkers/reference/gear.h"

namespace dedupfs::simd {
namespace {

// `bits` names positions in n <= 1024 bytes. Keeps those whose hash asks for a cut.
//
// First the positions are listed, almost without branches: the CPU cannot predict which words have any. Then they are
// looked at. Zen 4, AVX-512: 10.0 GB/s. A loop over the bits of each word gives 8.3. Without anything to verify it
// would be 15.
inline void keep_candidates(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::size_t window,
                            std::uint64_t* bits) {
  std::uint16_t passed[1024 + 2];
  std::size_t count = 0;
  const auto list = [&](std::size_t word, std::uint64_t left) {
    const int lowest = __builtin_ctzll(left | std::uint64_t{1} << 63);
    passed[count] = static_cast<std::uint16_t>(64 * word + static_cast<std::size_t>(lowest));
    count += left != 0;  // else it is written over
  };
  for (std::size_t word = 0; word < n / 64; ++word) {
    std::uint64_t left = bits[word];
    bits[word] = 0;
    list(word, left);
    list(word, left &= left - 1);
    while ((left &= left - 1) != 0) [[unlikely]] {
        list(word, left);
        // Runs of the byte 0x1a pass everywhere.
        if (count > 64) return reference::gear(p, n, mask, bits);
      }
  }

  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* last = p + passed[i];
    std::uint64_t hash = 0;
    for (const std::uint8_t* byte = last + 1 - window; byte <= last; ++byte) hash = gear_step(hash, *byte);
    bits[passed[i] / 64] |= std::uint64_t{(hash & mask) == 0} << (passed[i] % 64);
  }
}

template <class Vec>
void gear_low(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  const typename Vec::Table low_bytes(kGearTable.planes[0]);
  const Vec low_mask = Vec::splat(static_cast<std::uint8_t>(mask));
  Vec h1_before = Vec::splat(0), h2_before = h1_before, h4_before = h1_before;
  const auto filter = [&](Vec bytes) {
    const Vec h1 = low_bytes.look_up(bytes);
    const Vec h1_older = shift_in<1>(h1, h1_before);
    const Vec h2 = h1 + (h1_older + h1_older);
    const Vec h4 = h2 + shifted_up<2>(shift_in<2>(h2, h2_before));
    const Vec h8 = h4 + shifted_up<4>(shift_in<4>(h4, h4_before));
    h1_before = h1, h2_before = h2, h4_before = h4;
    return disjoint_bits(h8, low_mask);
  };
  std::uint8_t before[1 + kGearLookBackBytes] = {};
  __builtin_memcpy(before + 1, p - kGearLookBackBytes, kGearLookBackBytes);
  filter(Vec::load(before + sizeof before - Vec::kWidth));  // only to warm up

  const std::size_t window = mask == 0 ? 0 : 64 - static_cast<std::size_t>(__builtin_clzll(mask));
  const std::size_t whole = n / 64 * 64;
  for (std::size_t block = 0; block < whole; block += 1024) {
    const std::size_t length = whole - block < 1024 ? whole - block : 1024;
    for (std::size_t i = block; i < block + length; i += 64) {
      __builtin_prefetch(p + i + 4096);
      std::uint64_t passed = 0;
      for (std::size_t k = 0; k < 64; k += Vec::kWidth) passed |= filter(Vec::load(p + i + k)) << k;
      bits[i / 64] = passed;
    }
    if (window > 8) keep_candidates(p + block, length, mask, window, bits + block / 64);
  }
  if (n == whole) return;
  bits[whole / 64] = 0;
  reference::gear_chain(p + whole, n - whole, mask, whole, bits);
}

}  // namespace
}  // namespace dedupfs::simd
