// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_avx2.h"

#include "chunkers/simd/gear_low-inl.h"
#include "chunkers/simd/kernels-inl.h"

namespace dedupfs::simd {

// Only the Gear scan that looks up a single byte plane gains.
constinit const Kernels kAvx2Kernels = [] {
  Kernels kernels = kernels_over<ByteVec32>();
  kernels.gear_low = &gear_low<ByteVec32>;
  return kernels;
}();

}  // namespace dedupfs::simd
