// The definition of every kernel, for CPUs without the others and as what the others are tested against.
#include "chunkers/simd/gear_segments-inl.h"
#include "chunkers/simd/kernels.h"

namespace dedupfs::simd {
namespace {

std::uint8_t max_byte(const std::uint8_t* p, std::size_t n) {
  std::uint8_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = p[i] > largest ? p[i] : largest;
  return largest;
}

std::size_t first_at_least(const std::uint8_t* p, std::size_t n, std::uint8_t limit) {
  std::size_t i = 0;
  while (i < n && p[i] < limit) ++i;
  return i;
}

}  // namespace

const Kernels kScalarKernels = {&max_byte, &first_at_least, &gear_segments};

}  // namespace dedupfs::simd
