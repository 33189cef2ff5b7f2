// Chunks that are laid down by hand, and a packer for those that move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sample_store.h"
#include "store/format/container_format.h"
#include "store/ingest/region_packer.h"
#include "store/relocation/in_group.h"

namespace dedupfs {

class MovingStore : public SampleStore {
 public:
  static constexpr std::size_t kBytes = 3000;  // of a chunk
  static ByteBuffer content(std::uint64_t seed) { return random_bytes(kBytes, seed); }

  RegionPacker& packer() { return packer_; }
  InGroup in_group() {
    return [this](const auto& change) {
      ++groups_;
      return change();
    };
  }
  int groups() const { return groups_; }

  // What is pending is written and in the index then.
  void commit() {
    packer_.close();
    pending().freeze();
    for (const auto& region : pending().frozen_regions()) {
      const std::string encoded =
          encode_region(region->region->entries, ByteSpan(region->region->payload).first(region->used_bytes),
                        {.method = Compression::Method::kNone});
      pending().mark_written(*region, append(encoded), static_cast<std::uint32_t>(encoded.size()));
    }
    Database::Batch batch(database());
    ASSERT_TRUE(pending().append_frozen_to(batch, database()));
    ASSERT_TRUE(database().write(batch));
    pending().drop_frozen();
  }

  std::optional<ChunkExtent> extent_of(std::uint64_t id) { return find_extent(database(), ChunkId{id}).value(); }
  RegionPlace place_of(std::uint64_t id) {
    const auto extent = extent_of(id);
    EXPECT_TRUE(extent) << id;
    return extent ? extent->place : RegionPlace();
  }
  RegionEntry entry_of(std::uint64_t id) {
    const auto entries = containers().read_directory(place_of(id)).value();
    return *std::ranges::find(entries, ChunkId{id}, &RegionEntry::id);
  }
  // In the order of the payload.
  std::vector<std::uint64_t> ids_in(RegionPlace place) const {
    std::vector<std::uint64_t> ids;
    const auto entries = containers().read_directory(place).value();
    for (const RegionEntry& entry : entries) ids.push_back(number_of(entry.id));
    return ids;
  }
  std::string read(std::uint64_t id) {
    const auto chunk = make_reader(0).get(ChunkId{id});
    return chunk ? std::string(text_of(chunk->bytes.bytes)) : "error: " + chunk.error().message();
  }
  Path container(std::uint32_t number) const { return containers_path() / container_name(number); }

  // Somebody is storing it anew.
  void store_again(std::uint64_t id, const ByteBuffer& chunk) {
    EXPECT_TRUE(packer_.add_again(ChunkId{id}, fingerprint_of(chunk), chunk).is_new);
  }

 private:
  ChunkIdAllocator ids_{1'000'000};
  RegionPacker packer_{pending(), ids_, 64 << 10, [](auto) {}};
  int groups_ = 0;
};

}  // namespace dedupfs
