#include "store/ingest/region_packer.h"

#include <algorithm>
#include <cstring>

namespace dedupfs {
namespace {

// The most chunks of a region: its directory stays far below kMaxRegionDirectoryBytes, even if its deltas are small.
constexpr std::size_t kMaxEntries = 4096;

}  // namespace

// An entry in the lists of its region. It is removed again if the chunk does not become known, because memory ran out or another
// stream was faster: the lists must agree with the known chunks.
class RegionPacker::Noted {
 public:
  Noted(PendingRegion& region, std::vector<ChunkExtent>& extents, const RegionEntry& entry)
      : region_(region), extents_(extents), bytes_(entry.payload_length) {
    region.region->entries.push_back(entry);
    try {
      position_ = append_to_extents(extents, entry);
    } catch (...) {
      region.region->entries.pop_back();
      throw;
    }
  }
  ~Noted() {
    if (kept_) return;
    region_.region->entries.pop_back();
    drop_last(extents_, position_);
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;

  void keep() {
    kept_ = true;
    region_.used_bytes += bytes_;
  }

 private:
  PendingRegion& region_;
  std::vector<ChunkExtent>& extents_;
  const std::uint32_t bytes_;
  std::size_t position_ = 0;  // of the extent that it is in
  bool kept_ = false;
};

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
  if (const auto known = publish(open_->extents, entry, payload)) return {*known, false};
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
  if (const auto known = publish(open_->renewed, entry, chunk)) return {*known, false};
  return {id, true};
}

bool RegionPacker::add_moved(const RegionEntry& stored, ByteSpan payload) {
  make_room(payload.size());
  RegionEntry entry = stored;
  entry.payload_offset = open_->used_bytes;
  place_payload(payload);
  Noted noted(*open_, open_->moved, entry);
  if (!pending_.publish_moved(entry, open_)) return false;
  noted.keep();
  return true;
}

std::optional<ChunkId> RegionPacker::publish(std::vector<ChunkExtent>& extents, const RegionEntry& entry,
                                             ByteSpan payload) {
  place_payload(payload);
  Noted noted(*open_, extents, entry);
  if (const auto known = pending_.publish(entry, open_)) return known;
  noted.keep();
  return std::nullopt;
}

// The bytes are in place before anybody can learn of them.
void RegionPacker::place_payload(ByteSpan payload) {
  std::memcpy(open_->region->payload.data() + open_->used_bytes, payload.data(), payload.size());
}

void RegionPacker::close() {
  if (!open_) return;
  if (!open_->region->entries.empty()) pending_.add_region(open_);
  const auto region = std::exchange(open_, nullptr);
  if (!region->region->entries.empty()) closed_(region);
}

void RegionPacker::make_room(std::size_t payload_bytes) {
  if (open_ && (open_->used_bytes + payload_bytes > open_->region->payload.size() ||
                open_->region->entries.size() == kMaxEntries))
    close();
  if (open_) return;
  const auto region = std::make_shared<PendingRegion>();
  region->region = std::make_shared<Region>();
  region->region->payload.resize(std::max<std::size_t>(region_bytes_, payload_bytes));
  open_ = region;
}

}  // namespace dedupfs
