// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_avx2.h"

#include "chunkers/simd/ae-inl.h"
#include "chunkers/simd/gear_low-inl.h"
#include "chunkers/simd/kernels.h"
#include "chunkers/simd/linear_hash-inl.h"
#include "chunkers/simd/maxp-inl.h"
#include "chunkers/simd/ram-inl.h"
#include "chunkers/simd/seqcdc-inl.h"
#include "chunkers/simd/toga-inl.h"

namespace dedupfs::simd {

const Kernels kAvx2Kernels = {
    .max_byte = &extreme_byte<ByteVec32, AtLeast>,
    .min_byte = &extreme_byte<ByteVec32, AtMost>,
    .first_above = &first_above<ByteVec32>,
    .first_at_least = &first<ByteVec32, AtLeast>,
    .first_below = &first_below<ByteVec32>,
    .first_at_most = &first<ByteVec32, AtMost>,
    .first_equal = &first_equal<ByteVec32>,
    .ae_max = &ae_max<ByteVec32>,
    .ae_min = &ae_min<ByteVec32>,
    .ram = &ram<ByteVec32>,
    .maxp = &maxp<ByteVec32>,
    .seqcdc_increasing = &seqcdc<ByteVec32, true>,
    .seqcdc_decreasing = &seqcdc<ByteVec32, false>,
    .gear_low = &gear_low<ByteVec32>,
    .crc = &linear_hash<ByteVec32, CrcPlanes>,
    .rabin = &linear_hash<ByteVec32, RabinPlanes>,
    .toga = &toga<ByteVec32>,
};

}  // namespace dedupfs::simd
