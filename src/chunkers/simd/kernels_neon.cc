// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_neon.h"

#include "chunkers/simd/kernels-inl.h"

namespace dedupfs::simd {

// No gear: to look up 16 bytes in a byte plane of its table takes four TBL of four registers, slow on most CPUs. gear wants
// eight planes, gear16 two, gear_low one and then the hashes that pass its filter. The scalar code takes about five
// instructions a byte.
constinit const Kernels kNeonKernels = kernels_over<ByteVec16, ByteVec64>();

}  // namespace dedupfs::simd
