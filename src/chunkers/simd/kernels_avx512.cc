// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_avx512.h"

#include "chunkers/simd/ae-inl.h"
#include "chunkers/simd/gear_avx512-inl.h"
#include "chunkers/simd/gear_low-inl.h"
#include "chunkers/simd/kernels.h"
#include "chunkers/simd/linear_hash-inl.h"
#include "chunkers/simd/maxp-inl.h"
#include "chunkers/simd/ram-inl.h"
#include "chunkers/simd/seqcdc-inl.h"
#include "chunkers/simd/toga-inl.h"

namespace dedupfs::simd {

const Kernels kAvx512Kernels = {
    .max_byte = &extreme_byte<ByteVec64, AtLeast>,
    .min_byte = &extreme_byte<ByteVec64, AtMost>,
    .first_above = &first_above<ByteVec64>,
    .first_at_least = &first<ByteVec64, AtLeast>,
    .first_below = &first_below<ByteVec64>,
    .first_at_most = &first<ByteVec64, AtMost>,
    .first_equal = &first_equal<ByteVec64>,
    .ae_max = &ae_max<ByteVec64>,
    .ae_min = &ae_min<ByteVec64>,
    .ram = &ram<ByteVec64>,
    .maxp = &maxp<ByteVec64>,
    .seqcdc_increasing = &seqcdc<ByteVec64, true>,
    .seqcdc_decreasing = &seqcdc<ByteVec64, false>,
    .gear = &gear_transposed<QwordLanes>,
    .gear32 = &gear_transposed<DwordLanes>,
    .gear16 = &gear_narrow,
    .gear_low = &gear_low<ByteVec64>,
    .crc = &linear_hash<ByteVec64, CrcPlanes>,
    .rabin = &linear_hash<ByteVec64, RabinPlanes>,
    .toga = &toga<ByteVec64>,
};

}  // namespace dedupfs::simd
