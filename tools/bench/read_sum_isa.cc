// Compiled for each instruction set: DEDUPFS_READ_SUM is the name of the function, DEDUPFS_VECTOR_BYTES the size of a register.
// As in the kernels (chunkers/kernels/kernels.h), no inline function from outside is called here.
#include <cstddef>
#include <cstdint>

namespace dedupfs::bench {

using Vector = std::uint64_t __attribute__((vector_size(DEDUPFS_VECTOR_BYTES), aligned(1), may_alias));

extern std::uint64_t DEDUPFS_READ_SUM(const std::uint8_t* p, std::size_t n);

// Eight sums side by side, so that no addition waits for another.
std::uint64_t DEDUPFS_READ_SUM(const std::uint8_t* p, std::size_t n) {
  constexpr std::size_t kSums = 8;
  Vector sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums * sizeof(Vector) <= n; i += kSums * sizeof(Vector)) {
    const auto* const vectors = reinterpret_cast<const Vector*>(p + i);
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += vectors[k];
  }
  std::uint64_t total = 0;
  for (const Vector& sum : sums)
    for (std::size_t lane = 0; lane < sizeof(Vector) / 8; ++lane) total += sum[lane];
  for (; i < n; ++i) total += p[i];
  return total;
}

}  // namespace dedupfs::bench
