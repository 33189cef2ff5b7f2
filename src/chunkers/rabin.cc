// rabin and tttd: cut where the Rabin fingerprint of the last 48 bytes has enough zero bits, between min and max.
//
// rabin (Muthitacharoen, Chen, Mazières: "A low-bandwidth network file system", SOSP '01, section 3.1): log2(avg) bits;
// the matching byte is the last of the chunk.
//
// tttd (Eshghi, Tang: "A framework for analyzing and improving content-based chunking algorithms", HP Labs HPL-2005-30, section
// 5: two thresholds, two divisors): if there is no match up to max, or up to the end of the data, the chunk ends at the backup,
// the last match with one bit less. As in DedupBench, the fingerprint starts again at min and the matching byte begins the next
// chunk.
//
// As in DedupBench a fingerprint starts as that of a byte 0x01. The fingerprint of zeros is 0: zeros are cut at every
// minimum.
#include <fmt/format.h>

#include "chunkers/algorithms.h"
#include "chunkers/kernels/rabin_table.h"
#include "chunkers/simd/dispatch.h"
#include "chunkers/two_stage.h"

namespace dedupfs {
namespace {

class RabinBase : public TwoStageChunker {
 public:
  ChunkSizes sizes() const final { return sizes_; }
  std::string spec() const final { return fmt::format("{}:{}", name_, format_sizes(sizes_)); }
  std::string_view isa() const final { return name_of(kernel_.isa); }

 protected:
  RabinBase(std::string_view name, const ChunkSizes& sizes, std::uint64_t candidate_mask, Isa isa)
      : name_(name),
        sizes_(sizes),
        candidate_mask_(candidate_mask),
        kernel_(simd::choose(&simd::Kernels::rabin, isa)) {}

  CandidateMarker marker() const final { return {kernel_.run, candidate_mask_, simd::kLinearHashBlockBytes}; }

  std::string_view name_;
  ChunkSizes sizes_;
  std::uint64_t candidate_mask_;
  simd::Choice<simd::CandidateScan> kernel_;
};

class RabinChunker final : public RabinBase {
 public:
  RabinChunker(const ChunkSizes& sizes, Isa isa) : RabinBase("rabin", sizes, sizes.avg_bytes - 1, isa) {}

 private:
  // The minimum is longer than the window, so the byte 0x01 in front of the chunk has left it.
  std::size_t find_cut(Candidates& candidates, ByteSpan, std::size_t start, std::size_t n, bool) const override {
    if (n < sizes_.min_bytes) return 0;
    const std::size_t found = candidates.first(start + sizes_.min_bytes - 1, start + n);
    return found < start + n ? found + 1 - start : 0;
  }
};

class TttdChunker final : public RabinBase {
 public:
  TttdChunker(const ChunkSizes& sizes, Isa isa)
      : RabinBase("tttd", sizes, sizes.avg_bytes / 2 - 1, isa), main_mask_(sizes.avg_bytes - 1) {}

 private:
  std::size_t find_cut(Candidates& candidates, ByteSpan data, std::size_t start, std::size_t n,
                       bool complete) const override {
    if (n <= sizes_.min_bytes) return 0;
    const std::size_t from = start + sizes_.min_bytes;
    const std::size_t to = start + n;
    std::size_t backup = start;
    // Until the byte 0x01 has left the window, the fingerprint is not that of the first stage.
    const std::size_t filled = std::min(from + kRabinWindowBytes - 1, to);
    std::uint64_t digest = 1;
    for (std::size_t i = from; i < filled; ++i) {
      digest = rabin_step(digest, data[i]);
      if ((digest & main_mask_) == 0) return i - start;
      if ((digest & candidate_mask_) == 0) backup = i;
    }
    for (std::size_t i = candidates.first(filled, to); i < to; i = candidates.first(i + 1, to)) {
      if (matches_main(data, i)) return i - start;
      backup = i;
    }
    return complete ? backup - start : 0;
  }

  bool matches_main(ByteSpan data, std::size_t position) const {
    std::uint64_t digest = 0;
    for (const std::uint8_t byte : data.subspan(position + 1 - kRabinWindowBytes, kRabinWindowBytes))
      digest = rabin_step(digest, byte);
    return (digest & main_mask_) == 0;
  }

  std::uint64_t main_mask_;
};

template <class RabinKind>
Result<std::unique_ptr<Chunker>> make(const Spec& spec, Isa isa) {
  DEDUPFS_TRY(allow_only(spec, {"min", "avg", "max"}));
  DEDUPFS_ASSIGN(const ChunkSizes sizes, sizes_from(spec));
  DEDUPFS_TRY(log2_of_avg(spec, sizes, 20));
  return std::unique_ptr<Chunker>(std::make_unique<RabinKind>(sizes, isa));
}

}  // namespace

Result<std::unique_ptr<Chunker>> make_rabin(const Spec& spec, Isa isa) {
  return make<RabinChunker>(spec, isa);
}

Result<std::unique_ptr<Chunker>> make_tttd(const Spec& spec, Isa isa) {
  return make<TttdChunker>(spec, isa);
}

}  // namespace dedupfs
