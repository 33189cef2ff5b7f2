// From an instruction set to its kernels.
#pragma once

#include "chunkers/isa.h"
#include "chunkers/simd/kernels.h"

namespace dedupfs::simd {

inline const Kernels& kernels_of([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kScalar: break;
    case Isa::kSse41: return kSse41Kernels;
    case Isa::kAvx2: return kAvx2Kernels;
    case Isa::kAvx512: return kAvx512Kernels;
  }
#endif
  return kScalarKernels;
}

}  // namespace dedupfs::simd
