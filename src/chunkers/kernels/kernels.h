// The inner loops of the chunkers, one table per instruction set. Algorithms call these and know no ISA.
//
// The table of kScalar is the definition. Every other table gives the same results, bit for bit. It may leave out (null) a kernel
// if it has no faster form. dispatch.h picks. This header is compiled for every ISA, so it must not pull in inline functions: one
// compiled for a newer CPU could be the copy that the linker keeps for the whole program. For the same reason the kernels live in
// anonymous namespaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::simd {

struct SeqCdcParameters {
  std::size_t min_bytes;
  std::size_t length;        // pairs in sequence that end a chunk
  std::size_t skip_trigger;  // pairs against the sequence that make the scan skip
  std::size_t skip_bytes;
};

// Extreme byte search (VectorCDC, FAST '25, section 4.1): the largest, or smallest, of p[0..n), n > 0.
using ExtremeByte = std::uint8_t(const std::uint8_t* p, std::size_t n);

// Range scan (VectorCDC, FAST '25, section 4.2): the first i in [0, n) whose byte compares so with `limit`, else n.
using RangeScan = std::size_t(const std::uint8_t* p, std::size_t n, std::uint8_t limit);

// The length of the chunk that begins at p, or 0 if none of the n bytes decides it. The window is at least 64, and so is
// min_bytes; `length` is from 1 to 32 and skip_trigger at least 1.
using WindowCut = std::size_t(const std::uint8_t* p, std::size_t n, std::size_t window);
using SeqCdcCut = std::size_t(const std::uint8_t* p, std::size_t n, const SeqCdcParameters& parameters);

// Candidate scan (the first stage of SS-CDC, SYSTOR '19, section 3): bit i of `bits`, i in [0, n), says whether the hash
// of the bytes up to and with byte i asks for a cut. The look-back bytes in front of p must be readable: that is all that
// the hash can depend on. Writes (n + 63) / 64 words; bits from n on are zero.
// The hashes ask for a cut when they have no bit in common with `mask`; Toga when every one of its hashes is >= `mask`.
using CandidateScan = void(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits);

inline constexpr std::size_t kGearLookBackBytes = 63;
inline constexpr std::size_t kCrcLookBackBytes = 255;
inline constexpr std::size_t kRabinLookBackBytes = 47;
inline constexpr std::size_t kTogaLookBackBytes = 511;

// Kernels of CRC and Rabin scan many segments side by side. They are fastest on a multiple of this number of bytes.
inline constexpr std::size_t kLinearHashBlockBytes = 132 << 10;

struct Kernels {
  ExtremeByte* max_byte;
  ExtremeByte* min_byte;
  RangeScan* first_above;
  RangeScan* first_at_least;
  RangeScan* first_below;
  RangeScan* first_at_most;
  RangeScan* first_equal;

  WindowCut* ae_max;
  WindowCut* ae_min;
  WindowCut* ram;
  WindowCut* maxp;
  SeqCdcCut* seqcdc_increasing;
  SeqCdcCut* seqcdc_decreasing;

  CandidateScan* gear;      // any mask
  CandidateScan* gear32;    // masks below 2^32: 32 bytes decide
  CandidateScan* gear16;    // masks below 2^16: 16 bytes decide
  CandidateScan* gear_low;  // any mask; fast for those with all of bits 0 to 7
  CandidateScan* crc;       // masks below 2^32
  CandidateScan* rabin;     // masks below 2^53
  CandidateScan* toga;
};

extern const Kernels kScalarKernels;
extern const Kernels kSse41Kernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx512GatherKernels;
extern const Kernels kNeonKernels;
extern const Kernels kVsxKernels;

}  // namespace dedupfs::simd
