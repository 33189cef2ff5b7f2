// The Gear chunkers: cut where the rolling Gear hash has log2(avg) zero bits, between min and max.
//
// Gear (Xia, Jiang, Feng, Tian, Fu, Zhou: "Ddelta: a deduplication-inspired fast delta compression approach", Performance
// Evaluation 79, 2014): hash = 2 * hash + table[byte], modulo 2^64. Found in two stages, see candidate_scan.h.
//
// gear    The top bits of the 64-bit hash, which depend on 64 bytes. As the authors of SS-CDC and DedupBench have it: the hash
//         starts empty at `min`, and the byte that completes a match begins the next chunk. So the mean is min + avg.
// gear16  The top bits of the hash modulo 2^16, which depend on 16 bytes. The hash looks at the 16 bytes before the cut, also
//         where they lie before `min`, so the first stage needs no correction; and sums modulo 2^16 are cheap to vectorise.
#include <fmt/format.h>

#include <bit>

#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/candidate_scan.h"
#include "chunkers/cut_stream.h"
#include "chunkers/gear_table.h"
#include "chunkers/simd/dispatch.h"

namespace dedupfs {
namespace {

// A mask of the log2(avg) top bits of a hash of `hash_bits` bits.
std::uint64_t top_bits(std::uint32_t avg_bytes, int hash_bits) {
  const int count = std::countr_zero(avg_bytes);
  return ((std::uint64_t{1} << count) - 1) << (hash_bits - count);
}

class GearBase : public Chunker {
 public:
  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override { return fmt::format("{}:{}", name_, format_sizes(sizes_)); }
  std::string_view isa() const override { return name_of(isa_); }

 protected:
  GearBase(std::string_view name, const ChunkSizes& sizes, int hash_bits, Isa isa)
      : name_(name), sizes_(sizes), mask_(top_bits(sizes.avg_bytes, hash_bits)), isa_(isa) {}

  CandidateScan scan(ByteSpan data) const { return {data, mask_, simd::kernels_of(isa_)}; }

  std::string_view name_;
  ChunkSizes sizes_;
  std::uint64_t mask_;
  Isa isa_;
};

class GearChunker final : public GearBase {
 public:
  GearChunker(const ChunkSizes& sizes, Isa isa) : GearBase("gear", sizes, 64, isa) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    CandidateScan candidates = scan(data);
    return cut_stream(data, last, sizes_.max_bytes, ends, [&](std::size_t start, std::size_t n) -> std::size_t {
      if (n <= sizes_.min_bytes) return 0;
      const std::size_t from = start + sizes_.min_bytes;
      const std::size_t to = start + n;
      // Until 64 bytes are in it, the hash is not that of the first stage.
      const std::size_t filled = std::min(from + kWindowBytes - 1, to);
      std::uint64_t hash = 0;
      for (std::size_t i = from; i < filled; ++i) {
        hash = gear_step(hash, data[i]);
        if ((hash & mask_) == 0) return i - start;
      }
      const std::size_t found = candidates.first(filled, to);
      return found < to ? found - start : 0;
    });
  }

 private:
  static constexpr std::size_t kWindowBytes = 64;
};

class Gear16Chunker final : public GearBase {
 public:
  Gear16Chunker(const ChunkSizes& sizes, Isa isa) : GearBase("gear16", sizes, 16, isa) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    CandidateScan candidates = scan(data);
    return cut_stream(data, last, sizes_.max_bytes, ends, [&](std::size_t start, std::size_t n) -> std::size_t {
      // A candidate is the last byte of its chunk.
      const std::size_t to = start + n;
      const std::size_t found = candidates.first(start + sizes_.min_bytes - 1, to);
      return found < to ? found + 1 - start : 0;
    });
  }
};

template <class GearKind>
Result<std::unique_ptr<Chunker>> make(const ChunkerSpec& spec, std::uint32_t largest_avg_bytes, Isa isa) {
  DEDUPFS_TRY(allow_only(spec, {"min", "avg", "max"}));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  if (!std::has_single_bit(sizes.avg_bytes) || sizes.avg_bytes > largest_avg_bytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker {}: avg={} is not allowed (powers of two from {} to {})", spec.name,
                             format_size(sizes.avg_bytes), kSmallestMinChunkBytes, format_size(largest_avg_bytes))};
  return std::unique_ptr<Chunker>(std::make_unique<GearKind>(sizes, isa));
}

}  // namespace

Result<std::unique_ptr<Chunker>> make_gear(const ChunkerSpec& spec, Isa isa) {
  return make<GearChunker>(spec, 1 << 20, isa);
}

Result<std::unique_ptr<Chunker>> make_gear16(const ChunkerSpec& spec, Isa isa) {
  return make<Gear16Chunker>(spec, 1 << 16, isa);
}

}  // namespace dedupfs
