// The Gear chunkers: cut where the rolling Gear hash has log2(avg) zero bits, between min and max.
//
// Gear (Xia, Jiang, Feng, Tian, Fu, Zhou: "Ddelta: a deduplication-inspired fast delta compression approach",
// Performance Evaluation 79, 2014, section 4.1): hash = 2 * hash + table[byte], modulo 2^64. The family differs in which
// bits count, and so in how many bytes decide, and in what the hash sees at the minimum:
//
// gear      the top bits of 64, that is 64 bytes. As SS-CDC and DedupBench have it, the hash starts empty at `min`, and
//           the byte that completes a match begins the next chunk. So the mean is min + avg.
// fastcdc   the lowest bits, that is log2(avg) + 2 bytes and fewer; else as gear. FastCDC (Xia et al., USENIX ATC '16,
//           section 3) spreads its bits over 48; DedupBench, whose cuts these are, does not.
// gear32,   the top bits of the hash modulo 2^32 and 2^16, that is 32 and 16 bytes: those in front of the cut, also where
// gear16    they lie in front of `min`. Narrow sums are cheap to vectorise.
//
// With norm=N, N bits more than log2(avg) must be zero in front of avg, and N fewer from there on: FastCDC's normalised chunking
// (section 3.4). The first stage looks for the fewer bits. Few positions pass it. For those in front of avg, the second stage
// computes the hash once more.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/kernels/gear_table.h"
#include "chunkers/simd/dispatch.h"
#include "chunkers/two_stage.h"

namespace dedupfs {
namespace {

struct GearKind {
  std::string_view name;
  int hash_bits;    // the mask is the top of so many bits; 0: the lowest bits
  int widest_mask;  // bits
  int default_norm;
  bool empty_at_min;
};
constexpr GearKind kGear = {"gear", 64, 22, 0, true};
constexpr GearKind kGear32 = {"gear32", 32, 22, 2, false};
constexpr GearKind kGear16 = {"gear16", 16, 16, 2, false};
constexpr GearKind kFastCdc = {"fastcdc", 0, 22, 2, true};
constexpr int kMaxNorm = 2;

std::uint64_t mask_of(const GearKind& kind, int count) {
  return ((std::uint64_t{1} << count) - 1) << std::max(kind.hash_bits - count, 0);
}

simd::CandidateScan* simd::Kernels::*kernel_for(std::uint64_t mask) {
  if ((mask & UINT8_MAX) == UINT8_MAX) return &simd::Kernels::gear_low;
  if (mask <= UINT16_MAX) return &simd::Kernels::gear16;
  if (mask <= UINT32_MAX) return &simd::Kernels::gear32;
  return &simd::Kernels::gear;
}

class GearChunker final : public TwoStageChunker {
 public:
  GearChunker(const GearKind& kind, const ChunkSizes& sizes, int norm, Isa isa)
      : kind_(kind),
        sizes_(sizes),
        norm_(norm),
        early_mask_(mask_of(kind, std::countr_zero(sizes.avg_bytes) + norm)),
        late_mask_(mask_of(kind, std::countr_zero(sizes.avg_bytes) - norm)),
        window_bytes_(static_cast<std::size_t>(std::bit_width(early_mask_))),
        kernel_(simd::choose(kernel_for(late_mask_), isa)) {}

  ChunkSizes sizes() const override { return sizes_; }
  std::string spec() const override { return fmt::format("{}:{},norm={}", kind_.name, format_sizes(sizes_), norm_); }
  std::string_view isa() const override { return name_of(kernel_.isa); }

 private:
  // Kernels with many segments warm up each of them in each block. Zen 4, AVX-512, gear32: 5.5 GB/s with blocks of 4 KiB,
  // 6.1 with 8 KiB and with 16.
  CandidateMarker marker() const override { return {kernel_.run, late_mask_, 8192}; }

  std::size_t find_cut(Candidates& candidates, ByteSpan data, std::size_t start, std::size_t n, bool) const override {
    return kind_.empty_at_min ? cut_from_empty(candidates, data, start, n) : cut_behind(candidates, data, start, n);
  }

  // The matching byte begins the next chunk, and the hash has seen nothing in front of the minimum.
  std::size_t cut_from_empty(Candidates& candidates, ByteSpan data, std::size_t start, std::size_t n) const {
    if (n <= sizes_.min_bytes) return 0;
    const std::size_t from = start + sizes_.min_bytes;
    const std::size_t to = start + n;
    // Until the mask's bits depend on no byte in front of `from`, the hash is not that of the first stage.
    const std::size_t filled = std::min(from + window_bytes_ - 1, to);
    std::uint64_t hash = 0;
    for (std::size_t i = from; i < filled; ++i) {
      hash = gear_step(hash, data[i]);
      if ((hash & (i - start < sizes_.avg_bytes ? early_mask_ : late_mask_)) == 0) return i - start;
    }
    const std::size_t found = first_match(candidates, data, start, filled, to);
    return found < to ? found - start : 0;
  }

  // The matching byte is the last of the chunk.
  std::size_t cut_behind(Candidates& candidates, ByteSpan data, std::size_t start, std::size_t n) const {
    if (n < sizes_.min_bytes) return 0;
    const std::size_t to = start + n;
    const std::size_t found = first_match(candidates, data, start, start + sizes_.min_bytes - 1, to);
    return found < to ? found + 1 - start : 0;
  }

  // The first position in [from, to) where the hash asks for a cut of the chunk at `start`, else `to`.
  std::size_t first_match(Candidates& candidates, ByteSpan data, std::size_t start, std::size_t from,
                          std::size_t to) const {
    const std::size_t late = std::clamp(start + sizes_.avg_bytes, from, to);
    while (from < late) {
      const std::size_t found = candidates.first(from, late);
      if (found < late && matches_early(data, found)) return found;
      from = found + 1;
    }
    return candidates.first(late, to);
  }

  bool matches_early(ByteSpan data, std::size_t position) const {
    if (early_mask_ == late_mask_) return true;
    std::uint64_t hash = 0;
    for (const std::uint8_t byte : data.subspan(position + 1 - window_bytes_, window_bytes_))
      hash = gear_step(hash, byte);
    return (hash & early_mask_) == 0;
  }

  const GearKind& kind_;
  ChunkSizes sizes_;
  int norm_;
  std::uint64_t early_mask_;  // for cuts in front of avg
  std::uint64_t late_mask_;   // its bits are among those of early_mask_
  std::size_t window_bytes_;  // that the masks' bits depend on
  simd::Choice<simd::CandidateScan> kernel_;
};

Result<std::unique_ptr<Chunker>> make(const GearKind& kind, const Spec& spec, Isa isa) {
  DEDUPFS_TRY(allow_only(spec, {"min", "avg", "max", "norm"}));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  DEDUPFS_ASSIGN(const int avg_log2, log2_of_avg(spec, sizes, std::min(20, kind.widest_mask)));

  const auto max_norm = static_cast<std::uint64_t>(std::min(kMaxNorm, kind.widest_mask - avg_log2));
  const std::uint64_t norm =
      spec.find("norm").value_or(std::min<std::uint64_t>(static_cast<std::uint64_t>(kind.default_norm), max_norm));
  if (norm > max_norm)
    return Error{ErrorCode::kInvalidArgument, fmt::format("chunker {}: norm={} is not allowed with avg={} (0 to {})",
                                                          spec.name, norm, format_size(sizes.avg_bytes), max_norm)};
  return std::unique_ptr<Chunker>(std::make_unique<GearChunker>(kind, sizes, static_cast<int>(norm), isa));
}

}  // namespace

Result<std::unique_ptr<Chunker>> make_gear(const Spec& spec, Isa isa) {
  return make(kGear, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_gear32(const Spec& spec, Isa isa) {
  return make(kGear32, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_gear16(const Spec& spec, Isa isa) {
  return make(kGear16, spec, isa);
}

Result<std::unique_ptr<Chunker>> make_fastcdc(const Spec& spec, Isa isa) {
  return make(kFastCdc, spec, isa);
}

}  // namespace dedupfs
