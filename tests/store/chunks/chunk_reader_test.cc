#include "store/chunks/chunk_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sample_store.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kRawBytes = 8192;

class ChunkReaderTest : public testing::Test {
 protected:
  static ByteBuffer chunk(std::uint64_t seed) { return random_bytes(kRawBytes, seed); }

  // The message of the error that reading the chunk gives, which must be kCorruption.
  static std::string damage(ChunkReader& reader, std::uint64_t id) {
    const auto read = reader.get(ChunkId{id});
    if (read) return "no damage";
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    return read.error().message();
  }
  std::string damage(std::uint64_t id) {
    auto reader = store_.make_reader();
    return damage(reader, id);
  }
  void expect_chunk(ChunkReader& reader, std::uint64_t id, const ByteBuffer& expected) {
    const auto read = reader.get(ChunkId{id});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(std::ranges::equal(read->bytes.bytes, expected)) << "chunk " << id;
  }
  void expect_chunk(std::uint64_t id, const ByteBuffer& expected) {
    auto reader = store_.make_reader();
    expect_chunk(reader, id, expected);
  }

  SampleStore store_;
};

TEST_F(ChunkReaderTest, RawChunkHasNoDepthAndNoSources) {
  store_.put(7, chunk(1));

  auto reader = store_.make_reader();
  const auto read = reader.get(ChunkId{7});

  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(read->bytes.bytes), text_of(chunk(1)));
  EXPECT_EQ(read->depth, 0);
  EXPECT_TRUE(read->sources.empty());
}

// The index knows the length of each region. Chunks of 100,000 bytes: whoever guesses at the length needs a second read.
TEST_F(ChunkReaderTest, EachRegionIsOneRead) {
  const auto long_chunk = [](std::uint64_t seed) { return random_bytes(100'000, seed); };
  store_.put(1, long_chunk(1)).put(2, long_chunk(2)).put_delta(3, edited(long_chunk(1)), {1});
  auto reader = store_.make_reader();
  std::size_t reads = 0;
  store_.backing().before_read = [&](const Path&) { ++reads; };

  expect_chunk(reader, 2, long_chunk(2));
  EXPECT_EQ(reads, 2u) << "the header of the container, and the region";
  expect_chunk(reader, 3, edited(long_chunk(1)));
  EXPECT_EQ(reads, 4u) << "that of the delta, and that of its source";
  expect_chunk(reader, 3, edited(long_chunk(1)));
  EXPECT_EQ(reads, 4u) << "they are cached";
  store_.backing().before_read = nullptr;
}

TEST_F(ChunkReaderTest, CountsHitsAndMissesOfItsCaches) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1});
  auto reader = store_.make_reader();
  const auto counts_of = [&](std::size_t cache) {
    const CacheMeter::Reading reading = reader.cache_readings()[cache].reading;
    return std::pair(reading.hits, reading.misses);
  };

  ASSERT_TRUE(reader.get(ChunkId{2}));
  ASSERT_TRUE(reader.get(ChunkId{2}));

  EXPECT_EQ(reader.cache_readings()[1].name, "decoded_chunks");
  EXPECT_EQ(counts_of(0), std::pair(1UL, 2UL)) << "regions: the delta twice, its source once";
  EXPECT_EQ(counts_of(1), std::pair(1UL, 1UL)) << "decoded chunks";
  EXPECT_EQ(counts_of(2), std::pair(1UL, 2UL)) << "extents";
}

TEST_F(ChunkReaderTest, ALengthInTheIndexThatIsWrongCostsNoMoreThanReads) {
  for (const std::uint32_t disk_bytes : {0u, 1u, 100u, 5'000u, 0xffffffffu}) {
    store_.put(7, chunk(1));
    auto extent = find_extent(store_.database(), ChunkId{7}).value().value();
    extent.region_disk_bytes = disk_bytes;
    Database::Batch batch(store_.database());
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
    ASSERT_TRUE(store_.database().write(batch));

    expect_chunk(7, chunk(1));
  }
}

TEST_F(ChunkReaderTest, DeltaOfADeltaIsMadeFromBoth) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1});
  const ByteBuffer newest = joined(edited(chunk(1)), text_bytes(100));
  store_.put_delta(3, newest, {2});

  auto reader = store_.make_reader();
  const auto read = reader.get(ChunkId{3});

  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(text_of(read->bytes.bytes), text_of(newest));
  EXPECT_EQ(read->depth, 2);
  EXPECT_EQ(read->sources, sources_of({2}));
}

TEST_F(ChunkReaderTest, WideSourceIsItsChunksInTheOrderThatTheEntryNames) {
  for (const std::uint64_t id : {1u, 2u, 3u, 9u}) store_.put(id, chunk(id));
  ByteBuffer moved = chunk(9);
  moved.erase(moved.begin(), moved.begin() + 4000);
  moved = joined(std::move(moved), chunk(2));
  moved.resize(moved.size() - 3000);

  store_.put_delta(10, moved, {3, 9, 2, 1});

  expect_chunk(10, moved);
}

TEST_F(ChunkReaderTest, SourcesInOneRegionAndInSeveralGiveTheSame) {
  auto& pending = store_.pending();
  const auto region = std::make_shared<PendingRegion>();
  region->region = std::make_shared<Region>();
  const ByteBuffer side_by_side = joined(chunk(1), chunk(2));
  region->region->payload.resize(side_by_side.size());
  std::ranges::copy(side_by_side, region->region->payload.begin());
  for (const std::uint32_t i : {0u, 1u}) {
    RegionEntry entry;
    entry.id = ChunkId{i + 1};
    entry.fingerprint = fingerprint_of(chunk(i + 1));
    entry.raw_length = entry.payload_length = kRawBytes;
    entry.payload_offset = i * kRawBytes;
    ASSERT_FALSE(pending.publish(entry, region));
  }
  store_.put(11, chunk(1)).put(12, chunk(2)).put_delta(13, edited(side_by_side), {11, 12});
  expect_chunk(13, edited(side_by_side));
  store_.put_delta(14, edited(side_by_side), {11, 12}, [](RegionEntry& entry) { entry.sources = sources_of({1, 2}); });

  expect_chunk(14, edited(side_by_side));
}

TEST_F(ChunkReaderTest, CacheOfNothingReadsTheSame) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1}).put_delta(3, chunk(1), {2});

  auto reader = store_.make_reader(0);

  for (int i = 0; i < 3; ++i) expect_chunk(reader, 3, chunk(1));
}

// ---------------------------------------------------------------- damage

TEST_F(ChunkReaderTest, WrongSourceIsNoticedByTheChecksumOfTheResult) {
  store_.put(1, chunk(1)).put(2, chunk(2));
  store_.put_delta(3, edited(chunk(1)), {1}, [](RegionEntry& entry) { entry.sources = sources_of({2}); });

  EXPECT_THAT(damage(3), AllOf(HasSubstr("chunk 3"), HasSubstr("other bytes")));
}

TEST_F(ChunkReaderTest, ChecksumThatDiffersIsDamage) {
  store_.put(1, chunk(1));
  store_.put_delta(2, edited(chunk(1)), {1}, [](RegionEntry& entry) { entry.checksum ^= 1; });

  EXPECT_THAT(damage(2), HasSubstr("chunk 2"));
}

TEST_F(ChunkReaderTest, ShorterSourceThanTheDeltaNeedsIsDamage) {
  store_.put(1, chunk(1)).put(2, random_bytes(100, 2));
  store_.put_delta(3, edited(chunk(1)), {1}, [](RegionEntry& entry) { entry.sources = sources_of({2}); });

  EXPECT_THAT(damage(3), HasSubstr("chunk 3"));
}

TEST_F(ChunkReaderTest, MissingSourceIsNamedWithAllThatLedToIt) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1}).put_delta(3, chunk(1), {2});
  store_.forget(1);

  EXPECT_THAT(damage(3), AllOf(HasSubstr("chunk 3"), HasSubstr("chunk 2"), HasSubstr("chunk 1 is not in the index")));
}

TEST_F(ChunkReaderTest, DamagedSourceIsNamedWithItsDependant) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1});
  const Path container = std::filesystem::directory_iterator(store_.containers_path())->path();
  std::fstream file(container, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(64 + 64 + 35 + 1000);
  file.put(static_cast<char>(chunk(1)[0] ^ 0x55)).put('\x1').put('\x2');
  file.close();

  EXPECT_THAT(damage(2), AllOf(HasSubstr("chunk 2"), HasSubstr("chunk 1"), HasSubstr(container.filename().string())));
  EXPECT_THAT(damage(1), HasSubstr("chunk 1"));
}

TEST_F(ChunkReaderTest, NothingIsMadeFromItself) {
  store_.put(1, chunk(1));
  store_.put_delta(2, chunk(1), {1}).put_delta(3, chunk(1), {2});
  // 2 and 3 from each other. The later run of 2 replaces the earlier.
  store_.put_delta(2, chunk(1), {3}, [](RegionEntry& entry) { entry.depth = 1; });

  EXPECT_THAT(damage(3), HasSubstr("chunk 3"));
  EXPECT_THAT(damage(2), AllOf(HasSubstr("chunk 2"), HasSubstr("chunk 3"), HasSubstr("too deep")));
}

TEST_F(ChunkReaderTest, SourceOfTheSameDepthIsRefused) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1});
  store_.put_delta(3, chunk(1), {2}, [](RegionEntry& entry) { entry.depth = 1; });

  EXPECT_THAT(damage(3), AllOf(HasSubstr("chunk 3"), HasSubstr("chunk 2 is too deep")));
}

// Each level names the two chunks of the one below eight times over: without a limit the deepest would take 8^15 chunks to make.
// Rewriting makes deltas whole again, and then nothing keeps their sources.
TEST_F(ChunkReaderTest, ChunkThatIsADeltaNoMoreIsReadWhereItIsNow) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1});
  auto reader = store_.make_reader();
  ASSERT_FALSE(reader.is_cached(ChunkId{2})) << "but where it is, is cached";

  store_.put(2, edited(chunk(1)));
  store_.forget(1);

  expect_chunk(reader, 2, edited(chunk(1)));
}

TEST_F(ChunkReaderTest, HasWhatTheIndexHas) {
  store_.put(1, chunk(1)).put_delta(2, edited(chunk(1)), {1});
  auto reader = store_.make_reader();

  EXPECT_TRUE(reader.has(ChunkId{1}));
  EXPECT_TRUE(reader.has(ChunkId{2}));
  EXPECT_FALSE(reader.has(ChunkId{3}));
  EXPECT_FALSE(reader.has(ChunkId{0}));
}

TEST_F(ChunkReaderTest, HasWhatWaitsForACommit) {
  const auto region = std::make_shared<PendingRegion>();
  region->region = std::make_shared<Region>();
  RegionEntry entry;
  entry.id = ChunkId{5};
  entry.fingerprint = fingerprint_of(chunk(5));
  ASSERT_FALSE(store_.pending().publish(entry, region));
  auto reader = store_.make_reader();

  EXPECT_TRUE(reader.has(ChunkId{5}));
  EXPECT_FALSE(reader.has(ChunkId{6}));
}

TEST_F(ChunkReaderTest, HasNothingThatWasErasedBeforePlacesWereForgotten) {
  store_.put(1, chunk(1)).put(2, chunk(2));
  auto reader = store_.make_reader();
  ASSERT_TRUE(reader.get(ChunkId{1}));
  store_.forget(1);

  reader.forget_places();

  EXPECT_FALSE(reader.has(ChunkId{1}));
  EXPECT_TRUE(reader.has(ChunkId{2}));
}

TEST_F(ChunkReaderTest, ReadThatNeverEndsIsRefused) {
  const ByteBuffer small = random_bytes(64, 1);
  store_.put(2, small).put(3, small);
  for (std::uint64_t level = 1; level < kDeepestDelta; ++level) {
    const std::uint64_t below = 2 * level;
    const std::vector<std::uint64_t> sources = {below, below + 1, below, below + 1, below, below + 1, below, below + 1};
    store_.put_delta(below + 2, small, sources).put_delta(below + 3, small, sources);
  }

  auto without_cache = store_.make_reader(0);

  EXPECT_THAT(damage(without_cache, 2 * kDeepestDelta), HasSubstr("too many"));
  expect_chunk(2 * kDeepestDelta, small);
}

}  // namespace
}  // namespace dedupfs
