#include "store/region_packer.h"

#include <algorithm>
#include <cstring>

namespace dedupfs {

RegionPacker::RegionPacker(PendingChunks& pending, ChunkIdAllocator& ids, std::uint32_t region_bytes, Closed closed)
    : pending_(pending), ids_(ids), region_bytes_(region_bytes), closed_(std::move(closed)) {}

RegionPacker::Packed RegionPacker::add(const Fingerprint& fingerprint, ByteSpan chunk) {
  if (open_ && open_->used_bytes + chunk.size() > open_->region->payload.size()) close();
  if (!open_) open_region(chunk.size());
  if (next_id_ == block_end_) {
    next_id_ = ids_.take_block();
    block_end_ = next_id_ + ChunkIdAllocator::kBlockIds;
  }

  const auto length = static_cast<std::uint32_t>(chunk.size());
  RegionEntry entry;
  entry.id = ChunkId{next_id_};
  entry.fingerprint = fingerprint;
  entry.raw_length = length;
  entry.payload_offset = open_->used_bytes;
  entry.payload_length = length;
  // The bytes are in place before anybody can learn of them.
  std::memcpy(open_->region->payload.data() + open_->used_bytes, chunk.data(), chunk.size());
  if (const auto known = pending_.publish(entry, open_)) return {*known, false};

  open_->region->entries.push_back(entry);
  open_->used_bytes += length;
  if (open_->runs.empty() || !open_->runs.back().contains(ChunkId{next_id_ - 1}))
    open_->runs.emplace_back().first = entry.id;
  open_->runs.back().chunks.push_back({.raw_length = length});
  ++next_id_;
  return {entry.id, true};
}

void RegionPacker::close() {
  if (!open_) return;
  auto region = std::exchange(open_, nullptr);
  if (region->region->entries.empty()) return;
  pending_.add_region(region);
  closed_(std::move(region));
}

void RegionPacker::open_region(std::size_t first_chunk_bytes) {
  open_ = std::make_shared<PendingRegion>();
  open_->region = std::make_shared<Region>();
  open_->region->payload.resize(std::max<std::size_t>(region_bytes_, first_chunk_bytes));
}

}  // namespace dedupfs
