// The vector first: the kernels are templates over it.
#include "chunkers/simd/byte_vec_avx512.h"

#include "chunkers/simd/gear_avx512-inl.h"
#include "chunkers/simd/gear_low-inl.h"
#include "chunkers/simd/kernels-inl.h"

namespace dedupfs::simd {

constinit const Kernels kAvx512Kernels = [] {
  Kernels kernels = kernels_over<ByteVec64>();
  kernels.gear = &gear_transposed<QwordLanes>;
  kernels.gear32 = &gear_transposed<DwordLanes>;
  kernels.gear16 = &gear_narrow;
  kernels.gear_low = &gear_low<ByteVec64>;
  return kernels;
}();

}  // namespace dedupfs::simd
