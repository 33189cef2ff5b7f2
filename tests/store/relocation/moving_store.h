// Chunks that are laid down by hand, and what moves them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "sample_store.h"
#include "store/chunks/dropped_bytes.h"
#include "store/format/container_format.h"
#include "store/ingest/ingest.h"
#include "store/relocation/in_group.h"
#include "store/relocation/relocator.h"

namespace dedupfs {

class MovingStore : public SampleStore {
 public:
  static constexpr std::size_t kBytes = 3000;  // of a chunk
  static ByteBuffer content(std::uint64_t seed) { return random_bytes(kBytes, seed); }

  RegionPacker& packer() { return *packer_; }
  RelocationParts parts() { return {mutable_containers(), database(), pending(), reader_, ingest_}; }
  Relocator& relocator() { return relocator_; }
  // From now on there can be deltas.
  DeltaStage& with_deltas() {
    ingest_.deltas = DeltaStage::make({.method = "odess+"}, database(), reader_, 0).value();
    return *ingest_.deltas;
  }
  InGroup in_group() {
    return [this](const auto& change) {
      ++groups_;
      return change();
    };
  }
  int groups() const { return groups_; }
  // The disk is full from now on, and the writer of regions knows it.
  void fill_disk() {
    backing().fault = [](const std::string& operation, const Path&) -> std::optional<Error> {
      if (operation != "write") return std::nullopt;
      return Error{ErrorCode::kNoSpace, "the disk is full"};
    };
    store_again(1'000, content(1'000));
    ingest_.close_regions();
    pending().freeze();
    ASSERT_FALSE(ingest_.writer.wait_for(pending().frozen_regions()));
  }

  // What is pending is written and in the index then.
  void commit() {
    ingest_.close_regions();
    pending().freeze();
    ASSERT_TRUE(ingest_.writer.wait_for(pending().frozen_regions()));
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
    EXPECT_TRUE(packer_->add_again(ChunkId{id}, fingerprint_of(chunk), chunk).is_new);
  }

 private:
  ChunkReader reader_ = make_reader();
  Liveness liveness_;
  Ingest ingest_{{.compression = {.settled = Compression::none()},
                  .region_bytes = 64 << 10,
                  .waiting_region_bytes = 16 << 20,
                  .threads = 1},
                 mutable_containers(),
                 database(),
                 1'000'000,
                 pending(),
                 reader_,
                 liveness_,
                 pool_};
  DroppedBytes dropped_{0};
  Relocator relocator_{parts(), dropped_};
  PackerPool::Lease packer_{ingest_.packers};
  int groups_ = 0;
  ThreadPool pool_{1, "test"};
};

}  // namespace dedupfs
