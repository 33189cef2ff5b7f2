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
  make_room(payload.size());
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
  if (const auto known = publish(entry, payload)) return {*known, false};

  append_to_runs(open_->runs, entry);
  ++next_id_;
  return {entry.id, true};
}

RegionPacker::Packed RegionPacker::add_again(ChunkId id, const Fingerprint& fingerprint, ByteSpan chunk) {
  make_room(chunk.size());
  RegionEntry entry;
  entry.id = id;
  entry.fingerprint = fingerprint;
  entry.raw_length = entry.payload_length = static_cast<std::uint32_t>(chunk.size());
  entry.payload_offset = open_->used_bytes;
  if (const auto known = publish(entry, chunk)) return {*known, false};
  append_to_runs(open_->renewed, entry);
  return {id, true};
}

bool RegionPacker::add_moved(const RegionEntry& stored, ByteSpan payload) {
  make_room(payload.size());
  RegionEntry entry = stored;
  entry.payload_offset = open_->used_bytes;
  place_payload(payload);
  if (!pending_.publish_moved(entry, open_)) return false;
  note_packed(entry);
  append_to_runs(open_->moved, entry);
  return true;
}

std::optional<ChunkId> RegionPacker::publish(const RegionEntry& entry, ByteSpan payload) {
  place_payload(payload);
  if (const auto known = pending_.publish(entry, open_)) return known;
  note_packed(entry);
  return std::nullopt;
}

// The bytes are in place before anybody can learn of them.
void RegionPacker::place_payload(ByteSpan payload) {
  std::memcpy(open_->region->payload.data() + open_->used_bytes, payload.data(), payload.size());
}

void RegionPacker::note_packed(const RegionEntry& entry) {
  open_->region->entries.push_back(entry);
  open_->used_bytes += entry.payload_length;
}

void RegionPacker::close() {
  if (!open_) return;
  auto region = std::exchange(open_, nullptr);
  if (region->region->entries.empty()) return;
  pending_.add_region(region);
  closed_(std::move(region));
}

void RegionPacker::make_room(std::size_t payload_bytes) {
  if (open_ && (open_->used_bytes + payload_bytes > open_->region->payload.size() ||
                open_->region->entries.size() == kMostEntries))
    close();
  if (open_) return;
  open_ = std::make_shared<PendingRegion>();
  open_->region = std::make_shared<Region>();
  open_->region->payload.resize(std::max<std::size_t>(region_bytes_, payload_bytes));
}

}  // namespace dedupfs
