// The inner loops of resemblance detection, one table per instruction set.
//
// The table of kScalar is the definition. Every other table gives the same features, bit for bit. It may leave out (null) a
// kernel if it has no faster form. dispatch.h picks. This header is compiled for every ISA, so it must not pull in inline
// functions: one compiled for a newer CPU could be the copy that the linker keeps for the whole program. For the same reason the
// kernels live in anonymous namespaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::resemblance {

// Writes the twelve features of the chunk p[0..n), which is at least one window of the method long. Reads nothing else.
using ExtractFeatures = void(const std::uint8_t* p, std::size_t n, std::uint64_t* features);

struct Kernels {
  ExtractFeatures* n_transform;
  ExtractFeatures* finesse;
  ExtractFeatures* odess;
  ExtractFeatures* odess_plus;
};

extern const Kernels kScalarKernels;
extern const Kernels kSse41Kernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kNeonKernels;
extern const Kernels kVsxKernels;

}  // namespace dedupfs::resemblance
