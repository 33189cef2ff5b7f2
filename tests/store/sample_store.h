// A database and containers whose chunks and deltas are laid down by hand, for the tests of what reads them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "delta/xdelta3_codec.h"
#include "index/database.h"
#include "sample_region.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/fingerprint.h"
#include "store/containers/container_store.h"
#include "support/faulty_backing.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

inline std::vector<ChunkId> ids_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<ChunkId> ids;
  for (const std::uint64_t number : numbers) ids.push_back(ChunkId{number});
  return ids;
}

inline DeltaSources sources_of(const std::vector<std::uint64_t>& numbers) {
  return DeltaSources(ids_of(numbers));
}

// The same bytes, but for one bit in the middle.
inline ByteBuffer edited(ByteBuffer bytes) {
  bytes[bytes.size() / 2] ^= 1;
  return bytes;
}

inline ByteBuffer joined(ByteBuffer first, const ByteBuffer& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class SampleStore {
 public:
  SampleStore() {
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 16 << 20}));
    open_containers();
  }

  Path containers_path() const { return directory_.path() / "containers"; }
  Database& database() { return *database_; }
  PendingChunks& pending() { return pending_; }
  const ContainerStore& containers() const { return *containers_; }
  ContainerStore& mutable_containers() { return *containers_; }
  FaultyBacking& backing() { return *backing_; }  // of the containers

  // What was put before is read again from the disk.
  ChunkReader make_reader(std::size_t cache_bytes = 16 << 20) {
    return {*containers_, *database_, pending_, cache_bytes};
  }

  // Each chunk has a region of its own.
  SampleStore& put(std::uint64_t id, const ByteBuffer& chunk) {
    RegionEntry entry = entry_of(id, chunk);
    write(entry, chunk);
    return *this;
  }
  // The delta that makes `chunk` from chunks that were put; `change` makes something else of what the directory says.
  template <class Change>
  SampleStore& put_delta(std::uint64_t id, const ByteBuffer& chunk, const std::vector<std::uint64_t>& sources,
                         Change change) {
    RegionEntry entry = entry_of(id, chunk);
    ByteBuffer source;
    for (const std::uint64_t number : sources) {
      source = joined(std::move(source), known_.at(number).first);
      entry.depth = std::max<std::uint8_t>(entry.depth, known_.at(number).second);
    }
    ++entry.depth;
    entry.sources = sources_of(sources);
    entry.checksum = delta_checksum_of(chunk);
    ByteBuffer delta(chunk.size() + 1000);
    const auto length = Xdelta3Codec::encode(source, chunk, delta);
    EXPECT_TRUE(length && *length);
    delta.resize(length.value().value());
    change(entry);
    known_[id].second = entry.depth;
    write(entry, delta);
    return *this;
  }
  SampleStore& put_delta(std::uint64_t id, const ByteBuffer& chunk, const std::vector<std::uint64_t>& sources) {
    return put_delta(id, chunk, sources, [](RegionEntry&) {});
  }

  // What is put from now on goes to another container. Returns the number of that which is full.
  std::uint32_t end_container() { return containers_->begin_new_container() - 1; }
  // Returns where the region lies; the index is not told.
  RegionPlace append(const std::string& region) {
    const auto place = containers_->append(bytes_of(region));
    EXPECT_TRUE(place);
    return place.value_or(RegionPlace());
  }
  void lose_container(std::uint32_t number) { ASSERT_TRUE(containers_->remove(number)); }

  void forget(std::uint64_t id) {
    Database::Batch batch(*database_);
    batch.erase(Family::kChunks, encode_extent_key(ChunkId{id}));
    ASSERT_TRUE(database_->write(batch));
  }

 private:
  void open_containers() {
    (void)folder_at(containers_path());
    ContainerStore::Settings settings;
    settings.volume_uuid = "01234567-89ab-4def-8123-456789abcdef";
    containers_ = std::move(*ContainerStore::open(backing_->open_root(containers_path()).value(), settings));
  }

  RegionEntry entry_of(std::uint64_t id, const ByteBuffer& chunk) {
    known_[id] = {chunk, 0};
    RegionEntry entry;
    entry.id = ChunkId{id};
    entry.fingerprint = fingerprint_of(chunk);
    entry.raw_length = static_cast<std::uint32_t>(chunk.size());
    return entry;
  }

  void write(RegionEntry entry, const ByteBuffer& payload) {
    entry.payload_length = static_cast<std::uint32_t>(payload.size());
    const std::string region = encode_region({entry}, payload, Compression::none());
    ChunkExtent extent{.first = entry.id,
                       .place = append(region),
                       .region_disk_bytes = static_cast<std::uint32_t>(region.size()),
                       .region_payload_bytes = entry.payload_length,
                       .chunks = {{.raw_length = entry.raw_length}}};
    if (entry.is_delta()) {
      extent.chunks[0].delta_length = entry.payload_length;
      extent.chunks[0].sources = entry.sources;
    }
    Database::Batch batch(*database_);
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
    ASSERT_TRUE(database_->write(batch));
  }

  TempDir directory_;
  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  std::unique_ptr<Database> database_;
  std::unique_ptr<ContainerStore> containers_;
  PendingChunks pending_;
  std::map<std::uint64_t, std::pair<ByteBuffer, std::uint8_t>> known_;  // content and depth
};

}  // namespace dedupfs
