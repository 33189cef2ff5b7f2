#include "store/relocation/ordered_move.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "store/chunks/extent_finder.h"
#include "store/relocation/chunk_mover.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kBatch = 32 << 20;  // bytes that are held in memory
// Where so many times what moves has to be decoded, it is scattered too much to be worth it.
constexpr std::uint64_t kMaxDecoded = 16;

class OrderedMove {
 public:
  OrderedMove(const ContainerStore& containers, const Database& index, const PendingChunks& pending,
              RegionPacker& packer, const InGroup& in_group)
      : containers_(containers), extents_(index), mover_(index, pending, packer, in_group, [this](const auto& copy) {
          ++moved_[copy.from.container];
          bytes_ += copy.payload.size();
        }) {}

  Result<MovedChunks> run(const std::vector<ChunkId>& order, const BetweenBatches& between) {
    std::uint64_t stretch_bytes = 0;
    for (const ChunkId id : order) {
      DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
      if (extent == nullptr) continue;
      stretch_.push_back({id, extent->region(), stretch_.size()});
      stretch_bytes += extent->at(id).payload_length();
      if (stretch_bytes < kBatch) continue;
      stretch_bytes = 0;
      DEDUPFS_TRY(move_batch());
      DEDUPFS_TRY(between(bytes_));
      if (decoded_bytes_ > kMaxDecoded * bytes_) return std::move(moved_);
    }
    DEDUPFS_TRY(move_batch());
    return std::move(moved_);
  }

 private:
  struct Wanted {
    ChunkId id{};
    RegionRange region;
    std::size_t position = 0;  // in the batch
  };

  static RegionPlace place_of(const Wanted& wanted) { return wanted.region.place; }

  Result<void> move_batch() {
    std::vector<std::optional<ChunkMover::Copy>> copies(stretch_.size());
    std::ranges::sort(stretch_, {}, place_of);
    for (auto wanted = stretch_.begin(); wanted != stretch_.end();) {
      const RegionPlace place = wanted->region.place;
      const auto region = containers_.read(wanted->region);
      if (region) decoded_bytes_ += (*region)->whole_payload().size();
      for (; wanted != stretch_.end() && wanted->region.place == place; ++wanted) {
        const RegionEntry* const entry = region ? (*region)->find(wanted->id) : nullptr;
        if (entry == nullptr) continue;  // who empties the container hears of it
        const ByteSpan payload = (*region)->payload_of(*entry);
        copies[wanted->position] = {place, *entry, {payload.begin(), payload.end()}};
      }
    }
    stretch_.clear();
    for (auto& copy : copies)
      if (copy) DEDUPFS_TRY(mover_.add(std::move(*copy)));
    return mover_.finish();
  }

  const ContainerStore& containers_;
  ExtentFinder extents_;
  ChunkMover mover_;
  std::vector<Wanted> stretch_;
  MovedChunks moved_;
  std::uint64_t bytes_ = 0;
  std::uint64_t decoded_bytes_ = 0;
};

}  // namespace

Result<MovedChunks> move_in_order(const std::vector<ChunkId>& order, const BetweenBatches& between,
                                  const ContainerStore& containers, const Database& index, const PendingChunks& pending,
                                  RegionPacker& packer, const InGroup& in_group) {
  return OrderedMove(containers, index, pending, packer, in_group).run(order, between);
}

}  // namespace dedupfs
