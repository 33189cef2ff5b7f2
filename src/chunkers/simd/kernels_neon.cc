// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_neon.h"

#include "chunkers/simd/ae-inl.h"
#include "chunkers/simd/kernels.h"
#include "chunkers/simd/linear_hash-inl.h"
#include "chunkers/simd/maxp-inl.h"
#include "chunkers/simd/ram-inl.h"
#include "chunkers/simd/seqcdc-inl.h"
#include "chunkers/simd/toga-inl.h"

namespace dedupfs::simd {

// No gear: to look up 16 bytes in a byte plane of its table takes four TBL of four registers, slow on most CPUs. gear wants
// eight planes, gear16 two, gear_low one and then the hashes that pass its filter. The scalar code takes about five
// instructions a byte.
const Kernels kNeonKernels = {
    .max_byte = &extreme_byte<ByteVec16, AtLeast>,
    .min_byte = &extreme_byte<ByteVec16, AtMost>,
    .first_above = &first_above<ByteVec16>,
    .first_at_least = &first<ByteVec16, AtLeast>,
    .first_below = &first_below<ByteVec16>,
    .first_at_most = &first<ByteVec16, AtMost>,
    .first_equal = &first_equal<ByteVec16>,
    .ae_max = &ae_max<ByteVec16>,
    .ae_min = &ae_min<ByteVec16>,
    .ram = &ram<ByteVec16>,
    .maxp = &maxp<ByteVec16>,
    .seqcdc_increasing = &seqcdc<ByteVec64, true>,
    .seqcdc_decreasing = &seqcdc<ByteVec64, false>,
    .crc = &linear_hash<ByteVec16, CrcPlanes>,
    .rabin = &linear_hash<ByteVec16, RabinPlanes>,
    .toga = &toga<ByteVec64>,
};

}  // namespace dedupfs::simd
