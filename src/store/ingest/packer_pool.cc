#include "store/ingest/packer_pool.h"

#include <utility>

#include "base/guarded.h"

namespace dedupfs {
namespace {

// Regions that stay open for the next stream. Regions beyond that number are closed and written.
constexpr std::size_t kMaxOpenRegions = 16;

}  // namespace

PackerPool::PackerPool(PendingChunks& pending, ChunkIdAllocator& ids, std::uint32_t region_bytes,
                       RegionPacker::Closed closed)
    : pending_(pending), ids_(ids), region_bytes_(region_bytes), closed_(std::move(closed)) {}

void PackerPool::close_all() {
  const MutexLock lock(mutex_);
  for (const auto& packer : packers_) packer->close();
}

RegionPacker* PackerPool::take() {
  const MutexLock lock(mutex_);
  if (free_.empty()) {
    packers_.push_back(std::make_unique<RegionPacker>(pending_, ids_, region_bytes_, closed_));
    free_.reserve(packers_.size());
    free_.push_back(packers_.back().get());
  }
  RegionPacker* const packer = free_.back();
  free_.pop_back();
  return packer;
}

void PackerPool::give_back(RegionPacker* packer) noexcept {
  const MutexLock lock(mutex_);
  const bool enough = free_.size() >= kMaxOpenRegions;
  if (enough) survive("closing a region", [packer] { packer->close(); });
  free_.insert(enough ? free_.begin() : free_.end(), packer);  // there is room, see take()
}

}  // namespace dedupfs
