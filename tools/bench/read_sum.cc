#include "bench/read_sum.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/isa.h"

namespace dedupfs::bench {
namespace {

ReadSum* widest() {
  switch (widest_isa()) {
#if defined(__x86_64__)
    case Isa::kSse41: return read_sum_sse41;
    case Isa::kAvx2: return read_sum_avx2;
    case Isa::kAvx512: return read_sum_avx512;
#elif defined(__aarch64__)
    case Isa::kNeon: return read_sum_neon;
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
    case Isa::kVsx: return read_sum_vsx;
#endif
    default: return read_sum_scalar;
  }
}

}  // namespace

std::uint64_t read_sum(ByteSpan data, std::size_t threads) {
  ReadSum* const sum = widest();
  if (threads <= 1) return sum(data.data(), data.size());

  std::atomic<std::uint64_t> total = 0;
  {
    const std::size_t share = (data.size() + threads - 1) / threads;
    std::vector<std::jthread> running;
    for (std::size_t begin = 0; begin < data.size(); begin += share)
      running.emplace_back([&, begin] { total += sum(data.data() + begin, std::min(share, data.size() - begin)); });
  }
  return total;
}

}  // namespace dedupfs::bench
