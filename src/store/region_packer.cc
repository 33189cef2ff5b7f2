#include "store/region_packer.h"

#include <algorithm>
#include <cstring>

namespace dedupfs {
namespace {

// Of a region, so that its directory stays short beside kLargestRegionDirectoryBytes however small its deltas are.
constexpr std::size_t kMostEntries = 4096;

}  // namespace

RegionPacker::RegionPacker(PendingChunks& pending, ChunkIdAllocator& ids, std::uint32_t region_bytes, Closed closed)
    : pending_(pending), ids_(ids), region_bytes_(region_bytes), closed_(std::move(closed)) {}

RegionPacker::Packed RegionPacker::add(const Fingerprint& fingerprint, ByteSpan chunk,
                                       const std::optional<EncodedDelta>& delta) {
  const ByteSpan payload = delta ? ByteSpan(delta->bytes) : chunk;
  if (open_ && (open_->used_bytes + payload.size() > open_->region->payload.size() ||
                open_->region->entries.size() == kMostEntries))
    close();
  if (!open_) open_region(payload.size());
  if (next_id_ == block_end_) {
    next_id_ = ids_.take_block();
    block_end_ = next_id_ + ChunkIdAllocator::kBlockIds;
  }

  RegionEntry entry;
  entry.id = ChunkId{next_id_};
  entry.fingerprint = fingerprint;
  entry.raw_length = static_cast<std::uint32_t>(chunk.size());
  entry.payload_offset = open_->used_bytes;
  entry.payload_length = static_cast<std::uint32_t>(payload.size());
  if (delta) {
    entry.sources = delta->sources;
    entry.depth = delta->depth;
    entry.checksum = delta->checksum;
  }
  // The bytes are in place before anybody can learn of them.
  std::memcpy(open_->region->payload.data() + open_->used_bytes, payload.data(), payload.size());
  if (const auto known = pending_.publish(entry, open_)) return {*known, false};

  open_->region->entries.push_back(entry);
  open_->used_bytes += entry.payload_length;
  if (open_->runs.empty() || !open_->runs.back().contains(ChunkId{next_id_ - 1}))
    open_->runs.emplace_back().first = entry.id;
  ChunkRun::Chunk& in_run = open_->runs.back().chunks.emplace_back();
  in_run.raw_length = entry.raw_length;
  if (delta) {
    in_run.delta_length = entry.payload_length;
    in_run.sources = delta->sources;
  }
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

void RegionPacker::open_region(std::size_t first_payload_bytes) {
  open_ = std::make_shared<PendingRegion>();
  open_->region = std::make_shared<Region>();
  open_->region->payload.resize(std::max<std::size_t>(region_bytes_, first_payload_bytes));
}

}  // namespace dedupfs
