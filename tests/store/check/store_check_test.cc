#include "store/check/store_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "base/coding.h"
#include "sample_region.h"
#include "store/chunks/damaged_chunks.h"
#include "store/chunks/fingerprint.h"
#include "store/format/container_format.h"
#include "store/ingest/chunk_writer.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::size_t kBytesOfEach = 5000;

// A volume of two regions, with three chunks each, in one container. Tests damage it and look what the check finds.
class StoreCheckTest : public testing::Test {
 protected:
  StoreCheckTest() {
    VolumeSettings settings;
    settings.compression = {.settled = Compression::none()};
    EXPECT_TRUE(Volume::create(path(), settings));
    const auto volume = open();
    for (const std::uint64_t seed : {0u, 3u}) {
      put(*volume, seed);
      volume->freeze();
      EXPECT_TRUE(volume->commit());
    }
  }

  Path path() const { return directory_.path() / "volume"; }
  Path container() const { return path() / kContainersDirectory / container_name(1); }

  std::unique_ptr<Volume> open(bool read_only = false) {
    auto opened = Volume::open(path(), {.read_only = read_only, .index_memory_bytes = 16 << 20, .threads = 1});
    EXPECT_TRUE(opened) << opened.error().message();
    return std::move(*opened);
  }

  // What check_store() says. Leaves the table that it made in table_.
  std::vector<std::string> check() {
    std::vector<std::string> lines;
    CheckReport report([&](const std::string& line) { lines.push_back(line); });
    auto table = check_store(*open(true), report);
    EXPECT_TRUE(table) << table.error().message();
    if (table) table_ = std::move(table->chunks);
    return lines;
  }

  std::vector<KeyValue> entries(Family family) { return open(true)->database().list(family, {}, {}, 100).value(); }
  void put(Family family, std::string_view key, std::string_view value) {
    const auto volume = open();
    Database::Batch batch(volume->database());
    batch.put(family, key, value);
    ASSERT_TRUE(volume->database().write(batch));
  }
  void erase(Family family, std::string_view key) {
    const auto volume = open();
    Database::Batch batch(volume->database());
    batch.erase(family, key);
    ASSERT_TRUE(volume->database().write(batch));
  }
  ChunkExtent first_extent() {
    const KeyValue stored = entries(Family::kChunks).at(0);
    return decode_extent(stored.first, stored.second).value();
  }
  void replace(const ChunkExtent& extent) {
    put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
  }

  ChunkTable table_;

 private:
  static void put(Volume& volume, std::uint64_t seed) {
    std::vector<ByteBuffer> chunks;
    for (std::uint64_t i = seed; i < seed + 3; ++i) chunks.push_back(random_bytes(kBytesOfEach, i));
    std::promise<void> stored;
    const auto writer = volume.chunks().open_writer();
    writer->put({.owner = nullptr, .chunks = {chunks.begin(), chunks.end()}, .done = [&](auto ids) {
                   EXPECT_TRUE(ids);
                   stored.set_value();
                 }});
    stored.get_future().wait();
  }

  TempDir directory_;
};

TEST_F(StoreCheckTest, HealthyVolumeIsClean) {
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_EQ(table_.chunks(), 6u);
}

TEST_F(StoreCheckTest, VolumeWithoutChunksIsClean) {
  TempDir other;
  ASSERT_TRUE(Volume::create(other.path() / "empty", VolumeSettings()));
  const auto volume = Volume::open(other.path() / "empty", {.read_only = true});
  ASSERT_TRUE(volume) << volume.error().message();
  CheckReport report([](const std::string& line) { ADD_FAILURE() << line; });

  const auto table = check_store(**volume, report);

  ASSERT_TRUE(table);
  EXPECT_EQ(table->chunks.chunks(), 0u);
}

TEST_F(StoreCheckTest, TableKnowsTheLengthOfEachChunkAndOfNoOther) {
  check();

  const ChunkId first = first_extent().first;
  EXPECT_EQ(table_.length_of(first), kBytesOfEach);
  EXPECT_EQ(table_.length_of(ChunkId{number_of(first) - 1}), std::nullopt);
  EXPECT_EQ(table_.length_of(ChunkId{table_.end()}), std::nullopt);
}

// ---------------------------------------------------------------- superblock

TEST_F(StoreCheckTest, DamagedSuperblockCopyIsFound) {
  flip_bit(path() / kSuperblockCopyFile, 30);

  EXPECT_THAT(check(), ElementsAre(AllOf(HasSubstr("error: "), HasSubstr(std::string(kSuperblockCopyFile)))));
}

TEST_F(StoreCheckTest, MissingSuperblockIsFoundWhereTheCopyIsThere) {
  std::filesystem::remove(path() / kSuperblockFile);

  EXPECT_THAT(check(), ElementsAre(AllOf(StartsWith("note: "), HasSubstr("superblock.json: No such file"))));
}

// ---------------------------------------------------------------- containers

TEST_F(StoreCheckTest, FlippedBitInAPayloadIsFoundAndItsPlaceNamed) {
  const ChunkExtent extent = first_extent();
  flip_bit(container(), extent.place.offset + extent.region_disk_bytes - 1);

  EXPECT_THAT(check(), ElementsAre(AllOf(HasSubstr("error: "), HasSubstr(container_name(1)),
                                         HasSubstr(std::to_string(extent.place.offset)))));
}

// Writers look out for chunks that are on the list; any other that is damaged would swallow what they bring.
TEST_F(StoreCheckTest, DamageIsAnErrorOnlyUntilEachDamagedChunkIsListed) {
  const ChunkExtent extent = first_extent();
  flip_bit(container(), extent.place.offset + extent.region_disk_bytes - 1);
  DamagedChunks listed;
  listed.insert(extent.first, extent.chunks.size() - 1);
  put(Family::kCounters, kDamagedChunksCounter, listed.encode().bytes);
  EXPECT_THAT(check(), Contains(StartsWith("error: ")));

  listed.insert(extent.id_of(extent.chunks.size() - 1));
  put(Family::kCounters, kDamagedChunksCounter, listed.encode().bytes);

  EXPECT_THAT(check(), AllOf(Not(IsEmpty()), Each(StartsWith("note: "))));
  EXPECT_TRUE(table_.is_unreadable(extent.first));
}

TEST_F(StoreCheckTest, FlippedBitInADirectoryIsFound) {
  flip_bit(container(), first_extent().place.offset + 70);

  EXPECT_THAT(check(), ElementsAre(StartsWith("error: ")));
}

TEST_F(StoreCheckTest, FlippedBitInTheHeaderOfAContainerIsFound) {
  flip_bit(container(), 20);

  EXPECT_THAT(check(), ElementsAre(StartsWith("error: ")));
}

TEST_F(StoreCheckTest, MissingContainerIsFound) {
  std::filesystem::remove(container());

  EXPECT_THAT(check(), AllOf(Contains(HasSubstr(container_name(1))), Each(HasSubstr("error: "))));
}

TEST_F(StoreCheckTest, TruncatedContainerIsFound) {
  std::filesystem::resize_file(container(), first_extent().place.offset + 1000);

  EXPECT_THAT(check(), Contains(StartsWith("error: ")));
}

TEST_F(StoreCheckTest, WhatACrashLeavesIsNoError) {
  std::ofstream(container(), std::ios::app | std::ios::binary) << std::string(1000, 'x');
  std::ofstream(path() / kContainersDirectory / container_name(7)) << "half a header";

  EXPECT_THAT(check(), AllOf(Not(IsEmpty()), Each(StartsWith("note: "))));
}

// ---------------------------------------------------------------- index

TEST_F(StoreCheckTest, MissingRunOfChunksIsFound) {
  erase(Family::kChunks, encode_extent_key(first_extent().first));

  EXPECT_THAT(check(), Contains(HasSubstr("error: index: fingerprints that point to no chunk: 3")));
  EXPECT_EQ(table_.chunks(), 3u);
}

TEST_F(StoreCheckTest, RunThatDoesNotParseIsFound) {
  put(Family::kChunks, encode_extent_key(first_extent().first), "\xff");

  EXPECT_THAT(check(), Contains(HasSubstr("error: chunk index, entry")));
}

TEST_F(StoreCheckTest, OverlappingRunsAreFound) {
  ChunkExtent extent = first_extent();
  extent.first = ChunkId{number_of(extent.first) + 1};
  extent.chunks.pop_back();
  replace(extent);

  EXPECT_THAT(check(), Contains(HasSubstr("overlaps another")));
}

TEST_F(StoreCheckTest, RunThatClaimsMoreThanItsRegionHoldsIsFound) {
  ChunkExtent extent = first_extent();
  ++extent.chunks[1].raw_length;
  replace(extent);

  EXPECT_THAT(check(), Contains(HasSubstr("is not in container 1 at")));
}

TEST_F(StoreCheckTest, RunThatLeadsElsewhereIsFound) {
  ChunkExtent extent = first_extent();
  extent.place.offset += 8;
  replace(extent);

  EXPECT_THAT(check(), Contains(StartsWith("error: ")));
}

TEST_F(StoreCheckTest, WrongSizesOfARegionAreFound) {
  ChunkExtent extent = first_extent();
  ++extent.region_disk_bytes;
  ++extent.region_payload_bytes;
  replace(extent);

  EXPECT_THAT(check(), ElementsAre(HasSubstr("holds 15001 bytes of chunks, not 15000"), HasSubstr("bytes, not")));
}

TEST_F(StoreCheckTest, MissingFingerprintIsNoError) {
  erase(Family::kFingerprints, entries(Family::kFingerprints).at(0).first);

  EXPECT_THAT(check(),
              ElementsAre("note: 1 chunks have no fingerprint in the index; their content would be stored again"));
}

TEST_F(StoreCheckTest, FingerprintOfAnotherChunkIsFound) {
  const auto known = entries(Family::kFingerprints);
  put(Family::kFingerprints, known.at(0).first, known.at(1).second);

  EXPECT_THAT(check(), Contains(HasSubstr("does not point to it")));
}

TEST_F(StoreCheckTest, FingerprintThatLeadsNowhereIsFound) {
  put(Family::kFingerprints, std::string(32, 'f'), encode_chunk_id(ChunkId{99}));

  EXPECT_THAT(check(), ElementsAre(HasSubstr("fingerprints that point to no chunk: 1")));
}

TEST_F(StoreCheckTest, ChunkThatIsNotWhatItsFingerprintSaysIsFound) {
  SampleRegion forged;  // its checksums are right
  forged.add(1000, random_bytes(100, 1));
  const Fingerprint fingerprint = forged.entries[0].fingerprint;
  {
    const auto volume = open();
    const auto place = volume->containers().append(bytes_of(forged.encode(Compression::none())));
    ASSERT_TRUE(place);
    ASSERT_TRUE(volume->containers().sync());
    std::string next_chunk_id;
    Encoder(next_chunk_id).u64(1001);
    std::string next_container;
    Encoder(next_container).u64(volume->containers().next_container());
    Database::Batch batch(volume->database());
    const auto disk_bytes = static_cast<std::uint32_t>(forged.encode(Compression::none()).size());
    const ChunkExtent extent{.first = ChunkId{1000},
                             .place = *place,
                             .region_disk_bytes = disk_bytes,
                             .region_payload_bytes = 100,
                             .chunks = {{.raw_length = 100}}};
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
    batch.put(Family::kFingerprints, text_of(fingerprint.bytes), encode_chunk_id(extent.first));
    batch.put(Family::kCounters, kNextChunkIdCounter, next_chunk_id);
    batch.put(Family::kCounters, kNextContainerCounter, next_container);
    ASSERT_TRUE(volume->database().write(batch));
  }

  EXPECT_THAT(check(), ElementsAre(HasSubstr("chunk 1000 does not match its fingerprint")));
}

// ---------------------------------------------------------------- deltas

// Three chunks, and a version of each that differs in a byte and follows in another container.
class DeltaStoreCheckTest : public testing::Test {
 protected:
  DeltaStoreCheckTest() {
    VolumeSettings settings;
    settings.compression = {.settled = Compression::none()};
    settings.delta = {.method = "odess+", .neighbours = 0};
    EXPECT_TRUE(Volume::create(path(), settings));
    std::vector<ByteBuffer> chunks;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) chunks.push_back(random_bytes(kBytesOfEach, seed));
    bases_ = put(chunks);
    for (ByteBuffer& chunk : chunks) chunk[100] ^= 1;
    deltas_ = put(chunks);
  }

  Path path() const { return directory_.path() / "volume"; }
  std::unique_ptr<Volume> open(bool read_only = false) {
    auto opened = Volume::open(path(), {.read_only = read_only, .index_memory_bytes = 16 << 20, .threads = 1});
    EXPECT_TRUE(opened) << opened.error().message();
    return std::move(*opened);
  }
  std::vector<std::string> check() {
    std::vector<std::string> lines;
    CheckReport report([&](const std::string& line) { lines.push_back(line); });
    EXPECT_TRUE(check_store(*open(true), report));
    return lines;
  }

  // In a session, and so in a container, of its own.
  std::vector<ChunkId> put(const std::vector<ByteBuffer>& chunks) {
    const auto volume = open();
    std::promise<std::vector<ChunkId>> ids;
    const auto writer = volume->chunks().open_writer();
    writer->put({.owner = nullptr, .chunks = {chunks.begin(), chunks.end()}, .done = [&](auto stored) {
                   EXPECT_TRUE(stored);
                   ids.set_value(stored ? *stored : std::vector<ChunkId>());
                 }});
    const std::vector<ChunkId> stored = ids.get_future().get();
    volume->freeze();
    EXPECT_TRUE(volume->commit());
    return stored;
  }
  ChunkExtent extent_of(ChunkId id) {
    const auto found = open(true)->database().find_at_or_before(Family::kChunks, encode_extent_key(id));
    return decode_extent((*found)->first, (*found)->second).value();
  }
  void change(const std::function<void(Database::Batch&)>& changes) {
    const auto volume = open();
    Database::Batch batch(volume->database());
    changes(batch);
    ASSERT_TRUE(volume->database().write(batch));
  }

  std::vector<ChunkId> bases_;
  std::vector<ChunkId> deltas_;

 private:
  TempDir directory_;
};

std::string name_of_chunk(ChunkId id) {
  return "chunk " + std::to_string(number_of(id));
}

TEST_F(DeltaStoreCheckTest, HealthyDeltasAreClean) {
  EXPECT_TRUE(extent_of(deltas_[0]).chunks[0].is_delta());
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(DeltaStoreCheckTest, DamagedBaseIsReportedForEachChunkThatIsMadeFromIt) {
  const Path container = path() / kContainersDirectory / container_name(1);
  std::fstream file(container, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(container) / 2));
  file.write("damage", 6);
  file.close();

  const auto lines = check();

  for (std::size_t i = 0; i < deltas_.size(); ++i)
    EXPECT_THAT(lines, Contains(AllOf(StartsWith("error: "), HasSubstr(name_of_chunk(deltas_[i]) + ", a delta"),
                                      HasSubstr(name_of_chunk(bases_[i])), HasSubstr(container_name(1)))));
}

TEST_F(DeltaStoreCheckTest, MissingBaseIsReportedForEachChunkThatIsMadeFromIt) {
  change([&](Database::Batch& batch) { batch.erase(Family::kChunks, encode_extent_key(bases_[0])); });

  const auto lines = check();

  for (std::size_t i = 0; i < deltas_.size(); ++i)
    EXPECT_THAT(lines, Contains(AllOf(StartsWith("error: "), HasSubstr(name_of_chunk(deltas_[i]) + ", a delta"),
                                      HasSubstr(name_of_chunk(bases_[i]) + " is not in the index"))));
}

TEST_F(DeltaStoreCheckTest, IndexThatNamesOtherSourcesThanTheRegionIsFound) {
  ChunkExtent extent = extent_of(deltas_[1]);
  extent.chunks[number_of(deltas_[1]) - number_of(extent.first)].sources = {bases_[0]};
  change([&](Database::Batch& batch) {
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
  });

  EXPECT_THAT(check(),
              Contains(AllOf(StartsWith("error: " + name_of_chunk(deltas_[1])), HasSubstr("as the index says"))));
}

TEST_F(DeltaStoreCheckTest, IndexThatTakesTheDeltaForAnotherLengthIsFound) {
  ChunkExtent extent = extent_of(deltas_[1]);
  ++extent.chunks[number_of(deltas_[1]) - number_of(extent.first)].delta_length;
  change([&](Database::Batch& batch) {
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
  });

  EXPECT_THAT(check(), Contains(AllOf(StartsWith("error: "), HasSubstr("as the index says"))));
}

TEST_F(StoreCheckTest, CountersThatGoBackAreFound) {
  std::string one;
  Encoder(one).u64(1);
  put(Family::kCounters, kNextChunkIdCounter, one);
  put(Family::kCounters, kNextContainerCounter, one);

  EXPECT_THAT(check(), ElementsAre(HasSubstr("but the next id is 1"), HasSubstr("but the next number is 1")));
}

}  // namespace
}  // namespace dedupfs
