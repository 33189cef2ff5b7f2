#include "chunkers/two_stage.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "chunkers/cut_stream.h"

namespace dedupfs {

std::size_t TwoStageChunker::split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const {
  Candidates candidates(data, marker());
  return pick_cuts(candidates, data, 0, last, ends);
}

void TwoStageChunker::mark(ByteSpan data, std::size_t from, std::size_t to, std::uint64_t* bits) const {
  DEDUPFS_CHECK(from % 64 == 0 && from <= to && to <= data.size());  // offsets in memory, given by our own threads
  constexpr std::size_t kHeadBytes = 512;
  static_assert(kHeadBytes > simd::kTogaLookBackBytes, "no hash reaches further back");
  const CandidateMarker stage = marker();
  if (from < to && from < kHeadBytes) {
    // Here the hash would reach in front of the data. No cut lies so near the start, so any bytes will do there.
    std::array<std::uint8_t, 2 * kHeadBytes> head{};
    const std::size_t end = std::min(to, kHeadBytes);
    std::copy_n(data.begin(), end, head.begin() + kHeadBytes);
    stage.run(head.data() + kHeadBytes + from, end - from, stage.mask, bits);
    bits += (end - from + 63) / 64;
    from = end;
  }
  if (from < to) stage.run(data.data() + from, to - from, stage.mask, bits);
}

std::size_t TwoStageChunker::select(ByteSpan data, std::size_t start, const std::uint64_t* bits, bool last,
                                    std::vector<std::size_t>& ends) const {
  Candidates candidates(data, bits);
  return pick_cuts(candidates, data, start, last, ends);
}

std::size_t TwoStageChunker::pick_cuts(Candidates& candidates, ByteSpan data, std::size_t start, bool last,
                                       std::vector<std::size_t>& ends) const {
  return cut_stream(
      data, last, sizes().max_bytes, ends,
      [&](std::size_t at, std::size_t n, bool complete) { return find_cut(candidates, data, at, n, complete); }, start);
}

}  // namespace dedupfs
