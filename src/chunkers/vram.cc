// VRAM: the RAM algorithm from the two primitives of VectorCDC.
//
// RAM (Widodo, Lim, Atiquzzaman: "A new content-defined chunking algorithm for data deduplication in cloud storage",
// Future Generation Computer Systems 71, 2017): the first `window` bytes of a chunk have a maximum M; the chunk ends in
// front of the first later byte >= M. Vectorised as in VectorCDC (Udayashankar, Baba, Al-Kiswany, FAST '25): extreme
// byte search for M, range scan for the end.
//
// On random bytes M is nearly always 255, and the scan takes 256 bytes on average: hence window = avg - 256.
#include <fmt/format.h>

#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/cut_stream.h"
#include "chunkers/simd/dispatch.h"

namespace dedupfs {
namespace {

constexpr std::uint32_t kMeanScanBytes = 256;

class VramChunker final : public Chunker {
 public:
  VramChunker(const ChunkSizes& sizes, std::uint32_t window_bytes, Isa isa)
      : sizes_(sizes), window_bytes_(window_bytes), isa_(isa), kernels_(simd::kernels_of(isa)) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    return cut_stream(data, last, sizes_.max_bytes, ends, [&](std::size_t start, std::size_t n) -> std::size_t {
      if (n <= window_bytes_) return 0;
      const std::uint8_t* chunk = data.data() + start;
      const std::uint8_t largest = kernels_.max_byte(chunk, window_bytes_);
      const std::size_t scanned = kernels_.first_at_least(chunk + window_bytes_, n - window_bytes_, largest);
      return window_bytes_ + scanned < n ? window_bytes_ + scanned : 0;
    });
  }

  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override {
    return fmt::format("vram:{},window={}", format_sizes(sizes_), format_size(window_bytes_));
  }
  std::string_view isa() const override { return name_of(isa_); }

 private:
  ChunkSizes sizes_;
  std::uint32_t window_bytes_;
  Isa isa_;
  const simd::Kernels& kernels_;
};

}  // namespace

// The window is itself a minimum. A smaller `min` is kept in the spec but moves no boundary; a larger one is refused.
Result<std::unique_ptr<Chunker>> make_vram(const ChunkerSpec& given, Isa isa) {
  DEDUPFS_TRY(allow_only(given, {"min", "avg", "max", "window"}));
  ChunkerSpec spec = given;
  const bool own_min = spec.values.emplace("min", kSmallestMinChunkBytes).second;
  DEDUPFS_ASSIGN(ChunkSizes sizes, sizes_from(spec));

  const auto given_window = spec.find("window");
  if (!given_window && sizes.avg_bytes < kSmallestMinChunkBytes + kMeanScanBytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker vram: avg={} is too small for window = avg - 256 (smallest avg: {})",
                             format_size(sizes.avg_bytes), kSmallestMinChunkBytes + kMeanScanBytes)};
  const std::uint64_t window = given_window.value_or(sizes.avg_bytes - kMeanScanBytes);
  if (window < kSmallestMinChunkBytes || window > sizes.max_bytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker vram: window={} is out of range (allowed: {} to max={})", format_size(window),
                             kSmallestMinChunkBytes, format_size(sizes.max_bytes))};
  if (own_min) sizes.min_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(window, sizes.avg_bytes));
  if (sizes.min_bytes > window)
    return Error{ErrorCode::kInvalidArgument, fmt::format("chunker vram: min={} is larger than window={}",
                                                          format_size(sizes.min_bytes), format_size(window))};
  return std::unique_ptr<Chunker>(std::make_unique<VramChunker>(sizes, static_cast<std::uint32_t>(window), isa));
}

}  // namespace dedupfs
