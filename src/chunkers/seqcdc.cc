// seqcdc: cut at a run of bytes in sequence, and skip where bytes run the other way (reference/seqcdc.h).
//
// length=5, trigger=50 and skip=256 (512 at 16 KiB) are the paper's values. min and max default to avg / 2 and 2 * avg, as
// in the paper.
#include <fmt/format.h>

#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/cut_stream.h"
#include "chunkers/registry.h"
#include "chunkers/simd/dispatch.h"

namespace dedupfs {
namespace {

class SeqCdcChunker final : public Chunker {
 public:
  SeqCdcChunker(const ChunkSizes& sizes, const simd::SeqCdcParameters& parameters, std::string_view mode,
                simd::Choice<simd::SeqCdcCut> kernel)
      : sizes_(sizes), parameters_(parameters), mode_(mode), kernel_(kernel) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    return cut_stream(data, last, sizes_.max_bytes, ends, [&](std::size_t start, std::size_t n, bool) {
      return kernel_.run(data.data() + start, n, parameters_);
    });
  }

  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override {
    return fmt::format("seqcdc:{},mode={},length={},trigger={},skip={}", format_sizes(sizes_), mode_,
                       parameters_.length, parameters_.skip_trigger, format_size(parameters_.skip_bytes));
  }
  std::string_view isa() const override { return name_of(kernel_.isa); }

 private:
  ChunkSizes sizes_;
  simd::SeqCdcParameters parameters_;
  std::string_view mode_;
  simd::Choice<simd::SeqCdcCut> kernel_;
};

}  // namespace

Result<std::unique_ptr<Chunker>> make_seqcdc(const Spec& given, Isa isa) {
  DEDUPFS_TRY(allow_only(given, {"min", "avg", "max", "length", "trigger", "skip"}, {"mode"}));
  Spec spec = given;
  const std::uint64_t avg = spec.find("avg").value_or(kDefaultAvgBytes);
  spec.values.emplace("min", std::max<std::uint64_t>(avg / 2, kMinChunkBytesLimit));
  spec.values.emplace("max", std::min<std::uint64_t>(avg * 2, kMaxChunkBytesLimit));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  simd::SeqCdcParameters parameters{.min_bytes = sizes.min_bytes, .length = 0, .skip_trigger = 0, .skip_bytes = 0};
  DEDUPFS_ASSIGN(parameters.length, number_from(spec, "length", 5, 1, 32));
  DEDUPFS_ASSIGN(parameters.skip_trigger, number_from(spec, "trigger", 50, 1, kMaxChunkBytesLimit));
  const std::uint64_t own_skip = std::min<std::uint64_t>(avg < (16 << 10) ? 256 : 512, sizes.max_bytes);
  DEDUPFS_ASSIGN(parameters.skip_bytes, number_from(spec, "skip", own_skip, 0, sizes.max_bytes));

  const auto mode = spec.words.find("mode");
  const bool decreasing = mode != spec.words.end() && mode->second == "dec";
  if (mode != spec.words.end() && mode->second != "inc" && !decreasing)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker {}: mode={} is not allowed (allowed: inc, dec)", spec.name, mode->second)};
  return std::unique_ptr<Chunker>(std::make_unique<SeqCdcChunker>(
      sizes, parameters, decreasing ? "dec" : "inc",
      simd::choose(decreasing ? &simd::Kernels::seqcdc_decreasing : &simd::Kernels::seqcdc_increasing, isa)));
}

}  // namespace dedupfs
