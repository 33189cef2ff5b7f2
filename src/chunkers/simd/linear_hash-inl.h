// The candidate scans of CRC and Rabin over any byte vector. Included as scan-inl.h is.
//
// A table lookup for each byte would be a gather, which fetches one entry after the other. But both hashes are linear
// over GF(2), and so are their tables. What a byte adds to byte k of the hash is a linear map of that byte
// (linear_map.h). A vector applies such a map to all of its lanes at once: by one GF2P8AFFINEQB, or by two shuffles
// whose indices are nibbles.
//
// So kWidth segments of the data are scanned side by side, one in each lane. A plane is a vector with byte k of the
// hash of every lane. A step shifts the hashes by a byte: it renames the planes. Then it adds three maps to each plane:
// of the byte that is shifted out at the top, of the byte that enters the window, and of the byte that leaves it.
//
// The bytes of the segments are transposed in groups of 16 steps. Then one vector has the bytes that enter at a step. A
// window later, the same bytes leave. Candidates are rare, so a group is tested for them as a whole. If it has any, its
// results are transposed back. That gives 16 bits of the bitmap for each lane, however many candidates there are.
//
// In L2 on Zen 4, avg 16k, in GB/s:   scalar  SSE4.1  AVX2  AVX-512
//                              CRC      0.39     2.5   4.5     12.5
//                            Rabin      0.45     1.7   3.3      9.8
// On zeros, where every position is a candidate: CRC 0.38, 1.8, 3.1, 4.9; Rabin 0.40, 1.4, 2.5, 4.3.
#pragma once

#include "chunkers/kernels/rabin_table.h"
#include "chunkers/reference/crc.h"
#include "chunkers/reference/rabin.h"
#include "chunkers/simd/linear_map.h"

namespace dedupfs::simd {
namespace {

constexpr std::size_t kGroupSteps = 16;
// A lane's part of a block. It is long, because each lane has to warm up on a window. It is an odd number of cache
// lines, so that the bytes of the lanes do not fall into the same few sets of the cache. CRC with AVX-512 in L2 on Zen
// 4: 9.8 GB/s with 32 lines, 12.5 with 33, 12.6 with 66.
constexpr std::size_t kLaneBytes = 33 * 64;

// Below this length the plain code is faster, because it has only one lane to warm up. On Zen 4 it takes 1.07 us for 200 bytes
// with CRC and 0.54 with Rabin. The vectors, whose lanes then overlap, take up to 0.95 and 0.42.
constexpr std::size_t kMinBytes = 200;

// How a hash is divided into planes, one for each of its bytes. Planes are numbered in the direction in which the hash
// is shifted. So the last one is shifted out.
struct CrcPlanes {
  static constexpr std::size_t kWindow = kCrcWindowBytes;
  static constexpr std::size_t kPlanes = 4;
  static constexpr std::size_t kEnteringPlanes = 0;  // a byte enters through the last plane, before the shift

  // The CRC is shifted downwards.
  static constexpr std::size_t plane_of_byte(std::size_t i) { return kPlanes - 1 - i; }
  static constexpr std::uint64_t scaled(std::uint64_t mask) { return mask; }
  static consteval LinearMap shifted_out(std::size_t plane) {
    return make_linear_map([=](unsigned byte) { return kCrcTables.in[byte] >> 8 * plane_of_byte(plane); });
  }
  static consteval LinearMap leaving(std::size_t plane) {
    return make_linear_map([=](unsigned byte) { return kCrcTables.out[byte] >> 8 * plane_of_byte(plane); });
  }
  static consteval LinearMap entering(std::size_t) { return {}; }

  static void scan_plainly(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
    reference::crc(p, n, mask, bits);
  }
};

struct RabinPlanes {
  static constexpr std::size_t kWindow = kRabinWindowBytes;
  static constexpr std::size_t kPlanes = 7;
  static constexpr std::size_t kEnteringPlanes = 2;  // a byte enters after the shift

  // The fingerprint is kept multiplied by x^3. So the byte that is shifted out is a whole plane.
  static constexpr std::size_t kScale = 8 * kPlanes - kRabinDegree;
  static constexpr std::size_t plane_of_byte(std::size_t i) { return i; }
  static constexpr std::uint64_t scaled(std::uint64_t hash) { return hash << kScale; }
  static consteval LinearMap shifted_out(std::size_t plane) {
    return make_linear_map([=](unsigned byte) { return scaled(kRabinTables.reduce[byte]) >> 8 * plane; });
  }
  static consteval LinearMap leaving(std::size_t plane) {
    return make_linear_map([=](unsigned byte) { return scaled(kRabinTables.out[byte]) >> 8 * plane; });
  }
  static consteval LinearMap entering(std::size_t plane) {
    return make_linear_map([=](unsigned byte) { return scaled(byte) >> 8 * plane; });
  }

  static void scan_plainly(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
    reference::rabin(p, n, mask, bits);
  }
};

template <class Hash>
struct LinearMaps {
  LinearMap shifted_out[Hash::kPlanes], leaving[Hash::kPlanes], entering[Hash::kPlanes];
};

template <class Hash>
consteval LinearMaps<Hash> make_linear_maps() {
  LinearMaps<Hash> maps{};
  for (std::size_t k = 0; k < Hash::kPlanes; ++k)
    maps.shifted_out[k] = Hash::shifted_out(k), maps.leaving[k] = Hash::leaving(k),
    maps.entering[k] = Hash::entering(k);
  return maps;
}

// The hashes of all lanes.
template <class Hash, class Vec>
struct LinearHashes {
  static constexpr LinearMaps<Hash> kMaps = make_linear_maps<Hash>();
  Vec planes[Hash::kPlanes];

  [[gnu::always_inline]] void enter(Vec bytes) {
    constexpr std::size_t kLast = Hash::kPlanes - 1;
    const auto out = nibbles(Hash::kEnteringPlanes == 0 ? planes[kLast] ^ bytes : planes[kLast]);
#pragma GCC unroll 8
    for (std::size_t k = kLast; k > 0; --k) planes[k] = planes[k - 1] ^ apply(kMaps.shifted_out[k], out);
    planes[0] = apply(kMaps.shifted_out[0], out);
    const auto in = nibbles(bytes);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Hash::kEnteringPlanes; ++k) planes[k] = planes[k] ^ apply(kMaps.entering[k], in);
  }

  [[gnu::always_inline]] void leave(Vec bytes) {
    const auto out = nibbles(bytes);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Hash::kPlanes; ++k) planes[k] = planes[k] ^ apply(kMaps.leaving[k], out);
  }
};

// Transposes sixteen rows in each piece of 16 lanes: byte c of row r becomes byte r of row c. The place of a byte is a
// number of eight bits: four of its row, then four of its column. A round moves the highest bit to the bottom. So four
// rounds swap row and column.
template <class Vec>
[[gnu::always_inline]] inline void transpose(Vec (&rows)[kGroupSteps]) {
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
    Vec zipped[kGroupSteps];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kGroupSteps / 2; ++i) {
      zipped[2 * i] = zip_low(rows[i], rows[i + kGroupSteps / 2]);
      zipped[2 * i + 1] = zip_high(rows[i], rows[i + kGroupSteps / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kGroupSteps; ++i) rows[i] = zipped[i];
  }
}

// The segments of a block. Lane l is row l % 16 of piece l / 16. Segments of the last row or of the last piece may
// overlap others.
template <class Vec>
class Segments {
 public:
  static constexpr std::size_t kPieces = Vec::kWidth / 16;

  // For 16 * kPieces bytes or more.
  Segments(const std::uint8_t* p, std::size_t n) : p_(p), piece_bytes_(n / kPieces) {
    const std::size_t piece = n - (kPieces - 1) * piece_bytes_;  // the last one may be longer
    length_ = (piece + 16 * kGroupSteps - 1) / (16 * kGroupSteps) * kGroupSteps;
    for (std::size_t r = 0; r < 16; ++r) row_[r] = r * length_ < piece - length_ ? r * length_ : piece - length_;
  }

  std::size_t length() const { return length_; }

  std::size_t position(std::size_t row, std::size_t piece) const { return row_[row] + piece * piece_bytes_; }

  // The bytes of all lanes at 16 steps, the first of which is `step`: a column for each step.
  [[gnu::always_inline]] void load(std::ptrdiff_t step, Vec (&columns)[kGroupSteps]) const {
    Vec rows[kGroupSteps];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < 16; ++r) rows[r] = Vec::load_pieces(p_ + row_[r] + step, piece_bytes_);
    transpose(rows);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < 16; ++r) columns[r] = rows[r];
  }

 private:
  const std::uint8_t* p_;
  std::size_t piece_bytes_;
  std::size_t length_;
  std::size_t row_[16];
};

// Sets the bits of 16 positions. It writes to a word only if it sets a bit there.
inline void set_bits(std::size_t at, std::uint64_t sixteen, std::uint64_t* bits) {
  if (const std::uint64_t low = sixteen << at % 64; low != 0) bits[at / 64] |= low;
  if (at % 64 > 48)
    if (const std::uint64_t high = sixteen >> (64 - at % 64); high != 0) bits[at / 64 + 1] |= high;
}

// Tests the `kTestedBytes` lowest bytes of the hashes.
template <class Vec, class Hash, std::size_t kTestedBytes>
void scan_block(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  constexpr std::size_t kGroups = Hash::kWindow / kGroupSteps;
  reference::clear_bits(n, bits);

  // The segments begin one byte behind p. The window in front of them is then the bytes that may be looked back at, and
  // the byte at p.
  const Segments<Vec> segments(p + 1, n - 1);
  LinearHashes<Hash, Vec> hashes;
  for (Vec& plane : hashes.planes) plane = Vec::splat(0);
  Vec masks[kTestedBytes];
  for (std::size_t i = 0; i < kTestedBytes; ++i)
    masks[i] = Vec::splat(static_cast<std::uint8_t>(Hash::scaled(mask) >> (8 * i)));
  const auto tested = [&] {
    Vec sum = hashes.planes[Hash::plane_of_byte(0)] & masks[0];
#pragma GCC unroll 8
    for (std::size_t i = 1; i < kTestedBytes; ++i) sum = sum | (hashes.planes[Hash::plane_of_byte(i)] & masks[i]);
    return sum;
  };

  Vec window[kGroups + 1][kGroupSteps];  // the bytes of the last groups, by step
  for (std::size_t group = 0; group < kGroups; ++group) {
    segments.load(static_cast<std::ptrdiff_t>(group * kGroupSteps) - static_cast<std::ptrdiff_t>(Hash::kWindow),
                  window[group]);
    for (const Vec bytes : window[group]) hashes.enter(bytes);
  }
  if ((eq_bits(tested(), Vec::splat(0)) & 1) != 0) reference::set_bit(0, bits);

  std::size_t newest = kGroups;
  for (std::size_t step = 0; step < segments.length(); step += kGroupSteps) {
    segments.load(static_cast<std::ptrdiff_t>(step), window[newest]);
    const std::size_t oldest = newest == kGroups ? 0 : newest + 1;
    // The hardware cannot foresee so many streams. So fetch the bytes behind this range, which the next block or call
    // will read. CRC with AVX-512 from DRAM on Zen 4: 5.3 GB/s without, 9.8 with.
    for (std::size_t line = 0; line < kGroupSteps * Vec::kWidth; line += 64)
      __builtin_prefetch(p + n + step * Vec::kWidth + line);
    Vec results[kGroupSteps];
    Vec smallest = Vec::splat(255);
    for (std::size_t i = 0; i < kGroupSteps; ++i) {
      hashes.enter(window[newest][i]);
      hashes.leave(window[oldest][i]);
      results[i] = tested();
      smallest = min(smallest, results[i]);
    }
    newest = oldest;
    if (eq_bits(smallest, Vec::splat(0)) == 0) [[likely]]
      continue;
    transpose(results);
    for (std::size_t row = 0; row < 16; ++row)
      for (std::uint64_t hits = eq_bits(results[row], Vec::splat(0)), piece = 0; hits != 0; hits >>= 16, ++piece)
        set_bits(1 + segments.position(row, piece) + step, hits & 0xffff, bits);
  }
}

template <class Vec, class Hash>
void linear_hash(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  constexpr std::size_t kBlock = Vec::kWidth * kLaneBytes;
  constexpr std::size_t kUsualBytes = 3;  // averages up to 1 MiB
  const bool usual = Hash::scaled(mask) >> 8 * kUsualBytes == 0;
  for (std::size_t at = 0; at < n; at += kBlock) {
    const std::size_t length = n - at < kBlock ? n - at : kBlock;
    if (length < kMinBytes)
      Hash::scan_plainly(p + at, length, mask, bits + at / 64);
    else if (usual)
      scan_block<Vec, Hash, kUsualBytes>(p + at, length, mask, bits + at / 64);
    else
      scan_block<Vec, Hash, Hash::kPlanes>(p + at, length, mask, bits + at / 64);
  }
}

}  // namespace
}  // namespace dedupfs::simd
