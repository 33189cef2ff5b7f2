// The Gear chunkers: cut where the rolling Gear hash has log2(avg) zero bits, between min and max.
//
// Gear (Xia, Jiang, Feng, Tian, Fu, Zhou: "Ddelta: a deduplication-inspired fast delta compression approach",
// Performance Evaluation 79, 2014): hash = 2 * hash + table[byte], modulo 2^64. The cuts are found in two stages, see
// candidate_scan.h.
//
// gear: the top bits of the 64-bit hash, which depend on 64 bytes. As the authors of SS-CDC and DedupBench have it, the
// hash starts empty at `min`, and the byte that completes a match begins the next chunk. So the mean is min + avg.
//
// gear16: the top bits of the hash modulo 2^16, which depend on 16 bytes. The hash looks at the 16 bytes before the cut,
// also where they lie before `min`, so the first stage needs no correction; and sums modulo 2^16 are cheap to vectorise.
//
// With norm=N, N bits more than log2(avg) must be zero before avg and N fewer from there on: FastCDC's normalised
// chunking (Xia et al., USENIX ATC '16). The first stage looks for the fewer bits; few positions pass it, and of those
// before avg the second stage computes the hash once more.
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

// Marks the `count` top bits of a hash of `hash_bits` bits.
std::uint64_t top_bits(int count, int hash_bits) {
  return ((std::uint64_t{1} << count) - 1) << (hash_bits - count);
}

constexpr std::size_t kWindowBytes = 64;  // that a 64-bit hash depends on

struct GearParameters {
  std::string_view name;
  int hash_bits;
  int largest_avg_log2;
  int default_norm;
};
constexpr GearParameters kGear = {"gear", 64, 20, 0};
constexpr GearParameters kGear16 = {"gear16", 16, 16, 2};

class GearBase : public Chunker {
 public:
  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override { return fmt::format("{}:{},norm={}", name_, format_sizes(sizes_), norm_); }
  std::string_view isa() const override { return name_of(isa_); }

 protected:
  GearBase(const GearParameters& kind, const ChunkSizes& sizes, int norm, Isa isa)
      : name_(kind.name),
        sizes_(sizes),
        norm_(norm),
        early_mask_(top_bits(std::countr_zero(sizes.avg_bytes) + norm, kind.hash_bits)),
        late_mask_(top_bits(std::countr_zero(sizes.avg_bytes) - norm, kind.hash_bits)),
        isa_(isa) {}

  CandidateScan scan(ByteSpan data) const { return {data, late_mask_, simd::kernels_of(isa_)}; }

  // The first position in [from, to) where the hash asks for a cut of the chunk at `start`, else `to`.
  std::size_t first_match(CandidateScan& candidates, ByteSpan data, std::size_t start, std::size_t from,
                          std::size_t to) const {
    const std::size_t late = std::clamp(start + sizes_.avg_bytes, from, to);
    while (from < late) {
      const std::size_t found = candidates.first(from, late);
      if (found < late && matches_early(data, found)) return found;
      from = found + 1;
    }
    return candidates.first(late, to);
  }

  std::string_view name_;
  ChunkSizes sizes_;
  int norm_;
  std::uint64_t early_mask_;  // for cuts in front of avg
  std::uint64_t late_mask_;   // its bits are among those of early_mask_
  Isa isa_;

 private:
  bool matches_early(ByteSpan data, std::size_t position) const {
    if (early_mask_ == late_mask_) return true;
    std::uint64_t hash = 0;
    for (const std::uint8_t byte : data.subspan(position + 1 - kWindowBytes, kWindowBytes))
      hash = gear_step(hash, byte);
    return (hash & early_mask_) == 0;
  }
};

class GearChunker final : public GearBase {
 public:
  GearChunker(const ChunkSizes& sizes, int norm, Isa isa) : GearBase(kGear, sizes, norm, isa) {}

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
        if ((hash & (i - start < sizes_.avg_bytes ? early_mask_ : late_mask_)) == 0) return i - start;
      }
      const std::size_t found = first_match(candidates, data, start, filled, to);
      return found < to ? found - start : 0;
    });
  }
};

class Gear16Chunker final : public GearBase {
 public:
  Gear16Chunker(const ChunkSizes& sizes, int norm, Isa isa) : GearBase(kGear16, sizes, norm, isa) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    CandidateScan candidates = scan(data);
    return cut_stream(data, last, sizes_.max_bytes, ends, [&](std::size_t start, std::size_t n) -> std::size_t {
      if (n < sizes_.min_bytes) return 0;
      // The matching byte is the last of the chunk.
      const std::size_t to = start + n;
      const std::size_t found = first_match(candidates, data, start, start + sizes_.min_bytes - 1, to);
      return found < to ? found + 1 - start : 0;
    });
  }
};

template <class GearKind>
Result<std::unique_ptr<Chunker>> make(const GearParameters& kind, const ChunkerSpec& spec, Isa isa) {
  DEDUPFS_TRY(allow_only(spec, {"min", "avg", "max", "norm"}));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  const int avg_log2 = std::countr_zero(sizes.avg_bytes);
  if (!std::has_single_bit(sizes.avg_bytes) || avg_log2 > kind.largest_avg_log2)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunker {}: avg={} is not allowed (powers of two from {} to {})", spec.name,
                             format_size(sizes.avg_bytes), kSmallestMinChunkBytes,
                             format_size(std::uint64_t{1} << kind.largest_avg_log2))};

  const auto largest_norm = static_cast<std::uint64_t>(std::min(2, kind.hash_bits - avg_log2));
  const std::uint64_t norm =
      spec.find("norm").value_or(std::min<std::uint64_t>(static_cast<std::uint64_t>(kind.default_norm), largest_norm));
  if (norm > largest_norm)
    return Error{ErrorCode::kInvalidArgument, fmt::format("chunker {}: norm={} is not allowed with avg={} (0 to {})",
                                                          spec.name, norm, format_size(sizes.avg_bytes), largest_norm)};
  return std::unique_ptr<Chunker>(std::make_unique<GearKind>(sizes, static_cast<int>(norm), isa));
}

}  // namespace

Result<std::unique_ptr<Chunker>> make_gear(const ChunkerSpec& spec, Isa isa) {
  return make<GearChunker>(kGear, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_gear16(const ChunkerSpec& spec, Isa isa) {
  return make<Gear16Chunker>(kGear16, spec, isa);
}

}  // namespace dedupfs
