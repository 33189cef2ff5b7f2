// crc: cut where the CRC-32 of the last 256 bytes has log2(avg) zero bits, between min and max: the hash of SS-CDC (Ni,
// Lin, Jiang, SYSTOR '19, section 3; see crc_table.h). As in DedupBench the matching byte begins the next chunk.
//
// A run of equal bytes has the same CRC everywhere; that of zeros is 0, so zeros are cut at every minimum.
#include <fmt/format.h>

#include <bit>

#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/kernels/crc_table.h"
#include "chunkers/simd/dispatch.h"
#include "chunkers/two_stage.h"

namespace dedupfs {
namespace {

class CrcChunker final : public TwoStageChunker {
 public:
  CrcChunker(const ChunkSizes& sizes, Isa isa)
      : sizes_(sizes), mask_(sizes.avg_bytes - 1), kernel_(simd::choose(&simd::Kernels::crc, isa)) {}

  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override { return fmt::format("crc:{}", format_sizes(sizes_)); }
  std::string_view isa() const override { return name_of(kernel_.isa); }

 private:
  CandidateMarker marker() const override { return {kernel_.run, mask_, simd::kLinearHashBlockBytes}; }

  std::size_t find_cut(Candidates& candidates, ByteSpan, std::size_t start, std::size_t n, bool) const override {
    if (n <= sizes_.min_bytes) return 0;
    const std::size_t found = candidates.first(start + sizes_.min_bytes, start + n);
    return found < start + n ? found - start : 0;
  }

  ChunkSizes sizes_;
  std::uint64_t mask_;
  simd::Choice<simd::CandidateScan> kernel_;
};

}  // namespace

Result<std::unique_ptr<Chunker>> make_crc(const Spec& given, Isa isa) {
  DEDUPFS_TRY(allow_only(given, {"min", "avg", "max"}));
  Spec spec = given;
  spec.values.emplace("min",
                      std::max<std::uint64_t>(given.find("avg").value_or(kDefaultAvgBytes) / 4, kCrcWindowBytes));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  DEDUPFS_TRY(log2_of_avg(spec, sizes, 20));
  if (sizes.min_bytes < kCrcWindowBytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker crc: min={} is smaller than the window of the hash ({} bytes)",
                             format_size(sizes.min_bytes), kCrcWindowBytes)};
  return std::unique_ptr<Chunker>(std::make_unique<CrcChunker>(sizes, isa));
}

}  // namespace dedupfs
