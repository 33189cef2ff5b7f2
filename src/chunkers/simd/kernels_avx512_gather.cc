#include "chunkers/simd/gather_avx512-inl.h"

namespace dedupfs::simd {

constinit const Kernels kAvx512GatherKernels = {.gear = &gear_gathered, .crc = &crc_gathered};

}  // namespace dedupfs::simd
