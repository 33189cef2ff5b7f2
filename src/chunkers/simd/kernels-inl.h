// The table of an instruction set: all kernels that are written over any byte vector. Included by each kernels_ISA.cc,
// behind the header of its vector.
#pragma once

#include "chunkers/kernels/kernels.h"
#include "chunkers/simd/ae-inl.h"
#include "chunkers/simd/linear_hash-inl.h"
#include "chunkers/simd/maxp-inl.h"
#include "chunkers/simd/ram-inl.h"
#include "chunkers/simd/seqcdc-inl.h"
#include "chunkers/simd/toga-inl.h"

namespace dedupfs::simd {
namespace {

// Without the kernels of Gear, which not every instruction set makes faster. RowVec serves the kernels that make whole
// words of 64 comparisons.
template <class Vec, class RowVec = Vec>
consteval Kernels kernels_over() {
  return {
      .max_byte = &extreme_byte<Vec, AtLeast>,
      .min_byte = &extreme_byte<Vec, AtMost>,
      .first_above = &first_above<Vec>,
      .first_at_least = &first<Vec, AtLeast>,
      .first_below = &first_below<Vec>,
      .first_at_most = &first<Vec, AtMost>,
      .first_equal = &first_equal<Vec>,
      .ae_max = &ae_max<Vec>,
      .ae_min = &ae_min<Vec>,
      .ram = &ram<Vec>,
      .maxp = &maxp<Vec>,
      .seqcdc_increasing = &seqcdc<RowVec, true>,
      .seqcdc_decreasing = &seqcdc<RowVec, false>,
      .crc = &linear_hash<Vec, CrcPlanes>,
      .rabin = &linear_hash<Vec, RabinPlanes>,
      .toga = &toga<RowVec>,
  };
}

}  // namespace
}  // namespace dedupfs::simd
