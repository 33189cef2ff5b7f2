#include "chunkers/simd/byte_vec_avx2.h"
#include "chunkers/simd/kernels.h"
#include "chunkers/simd/scan-inl.h"

namespace dedupfs::simd {

const Kernels kAvx2Kernels = {
    .max_byte = &max_byte<ByteVec32>,
    .first_at_least = &first_at_least<ByteVec32>,
    .ram = &ram<ByteVec32>,
};

}  // namespace dedupfs::simd
