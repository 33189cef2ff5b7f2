// SeqCDC (Udayashankar, Al-Kiswany: "SeqCDC: hashless content-defined chunking for data deduplication", Middleware '24,
// section 4).
#pragma once

#include "chunkers/kernels/kernels.h"
#include "chunkers/reference/range_scan.h"

namespace dedupfs::reference {
namespace {

// The chunk ends in front of the byte that completes a run of `length` pairs in sequence. As in DedupBench: equal neighbours
// neither lengthen nor break a run. A pair against the sequence ends the run and counts. The `skip_trigger`-th of them makes the
// scan skip bytes unseen. Above gives increasing sequences.
template <class Comparison>
std::size_t seqcdc(const std::uint8_t* p, std::size_t n, const simd::SeqCdcParameters& parameters) {
  std::size_t run = 0, opposite = 0;
  for (std::size_t i = parameters.min_bytes; i < n; ++i) {
    if (Comparison::holds(p[i], p[i - 1])) {
      if (++run == parameters.length) return i;
    } else if (p[i] != p[i - 1]) {
      run = 0;
      if (++opposite == parameters.skip_trigger) {
        opposite = 0;
        i += parameters.skip_bytes;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace dedupfs::reference
