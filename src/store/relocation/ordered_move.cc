#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "store/chunks/extent_finder.h"
#include "store/relocation/chunk_mover.h"
#include "store/relocation/relocator.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kBatch = 32 << 20;  // bytes that are held in memory
// Of so many bytes, those in deltas come first: each kind compresses better without the other between. For more bytes, a reader would have
// to jump on a disk, since compressed they would be more than a short gap.
constexpr std::uint64_t kSorted = 3 << 20;

using Copies = std::vector<std::optional<ChunkMover::Copy>>;  // nothing: it cannot be read

void sort_by_kind(Copies& copies) {
  const auto is_delta = [](const auto& copy) { return copy && !copy->entry.sources.empty(); };
  std::uint64_t bytes = 0;
  auto begin = copies.begin();
  for (auto copy = begin; copy != copies.end(); ++copy) {
    if (*copy) bytes += (*copy)->payload.size();
    if (bytes < kSorted) continue;
    std::stable_partition(begin, std::next(copy), is_delta);
    begin = std::next(copy);
    bytes = 0;
  }
  std::stable_partition(begin, copies.end(), is_delta);
}

class OrderedMove {
 public:
  OrderedMove(const RelocationParts& parts, RegionPacker& packer, const InGroup& in_group, std::uint64_t max_decoded,
              MovedChunks& moved)
      : max_decoded_(max_decoded),
        moved_(moved),
        containers_(parts.containers),
        extents_(parts.index),
        mover_(parts, packer, in_group, [this](const auto& copy) {
          ++moved_[copy.from.container];
          bytes_ += copy.payload.size();
        }) {}

  Result<void> run(const std::vector<ChunkId>& order, const BetweenBatches& between) {
    std::uint64_t batch_bytes = 0;
    for (const ChunkId id : order) {
      DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
      if (extent == nullptr) continue;
      batch_.push_back({id, extent->region(), batch_.size()});
      batch_bytes += extent->at(id).payload_length();
      if (batch_bytes < kBatch) continue;
      batch_bytes = 0;
      DEDUPFS_TRY(move_batch());
      DEDUPFS_TRY(between(bytes_));
      if (decoded_bytes_ / max_decoded_ > bytes_) return {};
    }
    return move_batch();
  }

 private:
  struct Wanted {
    ChunkId id{};
    RegionRange region;
    std::size_t position = 0;  // in the batch
  };

  static RegionPlace place_of(const Wanted& wanted) { return wanted.region.place; }

  Result<void> move_batch() {
    Copies copies(batch_.size());
    std::ranges::sort(batch_, {}, place_of);
    for (auto wanted = batch_.begin(); wanted != batch_.end();) {
      const RegionPlace place = wanted->region.place;
      const auto region = containers_.read(wanted->region);
      if (region) decoded_bytes_ += (*region)->whole_payload().size();
      for (; wanted != batch_.end() && wanted->region.place == place; ++wanted) {
        const RegionEntry* const entry = region ? (*region)->find(wanted->id) : nullptr;
        if (entry == nullptr) continue;  // the later evacuation reports it
        const ByteSpan payload = (*region)->payload_of(*entry);
        copies[wanted->position] = {place, *entry, {payload.begin(), payload.end()}};
      }
    }
    batch_.clear();
    sort_by_kind(copies);
    for (auto& copy : copies)
      if (copy) DEDUPFS_TRY(mover_.add(std::move(*copy)));
    return mover_.finish();
  }

  const std::uint64_t max_decoded_;
  MovedChunks& moved_;
  const ContainerStore& containers_;
  ExtentFinder extents_;
  ChunkMover mover_;
  std::vector<Wanted> batch_;
  std::uint64_t bytes_ = 0;
  std::uint64_t decoded_bytes_ = 0;
};

}  // namespace

Result<void> Relocator::move_in_order(const std::vector<ChunkId>& order, const BetweenBatches& between,
                                      const InGroup& in_group, std::uint64_t max_decoded, MovedChunks& moved) {
  const PackerPool::Lease packer(parts_.ingest.moved_packers);
  return OrderedMove(parts_, *packer, in_group, max_decoded, moved).run(order, between);
}

}  // namespace dedupfs
