#include "chunkers/simd/byte_vec_avx512.h"
#include "chunkers/simd/gear_avx512-inl.h"
#include "chunkers/simd/kernels.h"
#include "chunkers/simd/scan-inl.h"

namespace dedupfs::simd {

const Kernels kAvx512Kernels = {
    .max_byte = &max_byte<ByteVec64>,
    .first_at_least = &first_at_least<ByteVec64>,
    .ram = &ram<ByteVec64>,
    .gear = &gear_wide,
    .gear16 = &gear_narrow,
};

}  // namespace dedupfs::simd
