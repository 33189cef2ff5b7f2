// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_sse41.h"

#include "chunkers/simd/kernels-inl.h"

namespace dedupfs::simd {

// No gear: without a shuffle over more than 16 entries its table is not looked up faster than one byte at a time.
constinit const Kernels kSse41Kernels = kernels_over<ByteVec16>();

}  // namespace dedupfs::simd
