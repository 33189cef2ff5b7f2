// toga: cut behind the first 64 bytes in a row whose hashes, one a byte, are all at least `limit` (Dude, Hirsch, Toaff:
// "A fast SIMD-based chunking algorithm", Prague Stringology Conference 2019; the hash: toga_hash.h).
//
// The hash of zeros is 0, so zeros run to the maximum.
#include <fmt/format.h>

#include <cmath>

#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/kernels/toga_hash.h"
#include "chunkers/simd/dispatch.h"
#include "chunkers/two_stage.h"

namespace dedupfs {
namespace {

class TogaChunker final : public TwoStageChunker {
 public:
  TogaChunker(const ChunkSizes& sizes, std::uint64_t limit, Isa isa)
      : sizes_(sizes), limit_(limit), kernel_(simd::choose(&simd::Kernels::toga, isa)) {}

  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override { return fmt::format("toga:{},limit={}", format_sizes(sizes_), limit_); }
  std::string_view isa() const override { return name_of(kernel_.isa); }

 private:
  // The blocks are so long that the minimum rarely lets them skip: the hardware fetches ahead only in a straight read. avg=8k
  // from DRAM on Zen 4, AVX-512: blocks of 4 KiB 16 GB/s, 8 KiB 19, 16 KiB 20, 32 KiB 18.5.
  CandidateMarker marker() const override { return {kernel_.run, limit_, 16 << 10}; }

  std::size_t find_cut(Candidates& candidates, ByteSpan, std::size_t start, std::size_t n, bool) const override {
    if (n < sizes_.min_bytes) return 0;
    const std::size_t found = candidates.first(start + sizes_.min_bytes - 1, start + n);
    return found < start + n ? found + 1 - start : 0;
  }

  ChunkSizes sizes_;
  std::uint64_t limit_;
  simd::Choice<simd::CandidateScan> kernel_;
};

// In random bytes, the first run of r passes, each with probability p, ends after (1 - p^r) / ((1 - p) p^r) bytes on
// average. The limit that comes nearest to avg - min.
std::uint64_t limit_for(const ChunkSizes& sizes) {
  const double wanted = sizes.avg_bytes - sizes.min_bytes;
  const auto mean = [](std::uint64_t limit) {
    const double pass = 1 - static_cast<double>(limit) / 256;
    const double run = std::pow(pass, kTogaRun);
    return (1 - run) / ((1 - pass) * run);
  };
  std::uint64_t limit = 1;
  while (std::abs(mean(limit + 1) - wanted) < std::abs(mean(limit) - wanted)) ++limit;
  return limit;
}

}  // namespace

Result<std::unique_ptr<Chunker>> make_toga(const Spec& given, Isa isa) {
  DEDUPFS_TRY(allow_only(given, {"min", "avg", "max", "limit"}));
  Spec spec = given;
  const std::uint64_t shortest = kTogaRows * kTogaRowBytes;  // the hashes look so far back
  spec.values.emplace("min", std::max(spec.find("avg").value_or(kDefaultAvgBytes) / 4, shortest));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  if (sizes.min_bytes < shortest)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker toga: min={} is smaller than the window of the hash ({} bytes)",
                             format_size(sizes.min_bytes), shortest)};
  DEDUPFS_ASSIGN(const std::uint64_t limit, number_from(spec, "limit", limit_for(sizes), 1, 255));
  return std::unique_ptr<Chunker>(std::make_unique<TogaChunker>(sizes, limit, isa));
}

}  // namespace dedupfs
