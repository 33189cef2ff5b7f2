#include "chunkers/windowed.h"

#include <fmt/format.h>

#include "base/size.h"
#include "chunkers/cut_stream.h"
#include "chunkers/registry.h"
#include "chunkers/simd/dispatch.h"

namespace dedupfs {
namespace {

class WindowedChunker final : public Chunker {
 public:
  WindowedChunker(std::string_view name, const ChunkSizes& sizes, std::uint32_t window_bytes,
                  simd::Choice<simd::WindowCut> kernel)
      : name_(name), sizes_(sizes), window_bytes_(window_bytes), kernel_(kernel) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    return cut_stream(data, last, sizes_.max_bytes, ends, [&](std::size_t start, std::size_t n, bool) {
      return kernel_.run(data.data() + start, n, window_bytes_);
    });
  }

  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override {
    return fmt::format("{}:{},window={}", name_, format_sizes(sizes_), format_size(window_bytes_));
  }
  std::string_view isa() const override { return name_of(kernel_.isa); }

 private:
  std::string_view name_;
  ChunkSizes sizes_;
  std::uint32_t window_bytes_;
  simd::Choice<simd::WindowCut> kernel_;
};

}  // namespace

Result<std::unique_ptr<Chunker>> make_windowed(const WindowedAlgorithm& algorithm, const Spec& given, Isa isa) {
  DEDUPFS_TRY(allow_only(given, {"min", "avg", "max", "window"}));
  Spec spec = given;
  const bool own_min = spec.values.emplace("min", kMinChunkBytesLimit).second;
  DEDUPFS_ASSIGN(ChunkSizes sizes, sizes_from(spec));

  const std::uint64_t own_window = algorithm.window_for(sizes.avg_bytes);
  if (!spec.find("window") && own_window < kMinChunkBytesLimit)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker {}: avg={} is too small for this algorithm (to use it all the same, set window)",
                             spec.name, format_size(sizes.avg_bytes))};
  DEDUPFS_ASSIGN(const std::uint64_t window,
                 number_from(spec, "window", own_window, kMinChunkBytesLimit, sizes.max_bytes));
  if (own_min) sizes.min_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(window, sizes.avg_bytes));
  if (sizes.min_bytes > window)
    return Error{ErrorCode::kInvalidArgument, fmt::format("chunker {}: min={} is larger than window={}", spec.name,
                                                          format_size(sizes.min_bytes), format_size(window))};
  return std::unique_ptr<Chunker>(std::make_unique<WindowedChunker>(
      algorithm.name, sizes, static_cast<std::uint32_t>(window), simd::choose(algorithm.kernel, isa)));
}

}  // namespace dedupfs
