#include "chunkers/simd/byte_vec_sse41.h"
#include "chunkers/simd/kernels.h"
#include "chunkers/simd/scan-inl.h"

namespace dedupfs::simd {

const Kernels kSse41Kernels = {
    .max_byte = &max_byte<ByteVec16>,
    .first_at_least = &first_at_least<ByteVec16>,
    .ram = &ram<ByteVec16>,
};

}  // namespace dedupfs::simd
