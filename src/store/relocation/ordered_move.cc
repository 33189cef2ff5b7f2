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
    std::vector<std::optional<ChunkMover::Copy>> copies(batch_.size());
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
