#include "fs/content/write_stream.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "support/faulty_backing.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStart = 1000;  // in the file

struct WriteStreamTest : testing::Test {
  TempDir directory;
  std::shared_ptr<FaultyBacking> backing = std::make_shared<FaultyBacking>();
  DirtyBudget budget{64 << 20, [] {}};
  std::unique_ptr<Volume> volume;
  std::mutex mutex;
  std::condition_variable landed;
  std::deque<Result<std::vector<ChunkId>>> results;
  std::unique_ptr<WriteStream> stream;

  WriteStreamTest() {
    VolumeSettings settings;
    settings.chunker = "gear:avg=4k";
    EXPECT_TRUE(Volume::create(directory.path() / "volume", settings));
    volume = std::move(*Volume::open(directory.path() / "volume", {.threads = 2}, backing));
    begin();
  }
  ~WriteStreamTest() override {
    if (!stream) return;
    while (stream->in_flight()) land();
    stream.reset();
    EXPECT_EQ(budget.used_bytes(), 0u);
  }

  void begin(std::uint64_t expected_bytes = 64 << 20) {
    stream.reset();
    stream = std::make_unique<WriteStream>(*volume, budget, kStart, expected_bytes,
                                           [this](Result<std::vector<ChunkId>> ids) {
                                             const std::lock_guard lock(mutex);
                                             results.push_back(std::move(ids));
                                             landed.notify_all();
                                           });
  }
  // The first batch: into the recipe, or it failed. Returns what it is in the recipe.
  std::vector<RecipeEntry> land() {
    std::unique_lock lock(mutex);
    landed.wait(lock, [this] { return !results.empty(); });
    const Result<std::vector<ChunkId>> ids = std::move(results.front());
    results.pop_front();
    if (!ids) {
      stream->keep_failed();
      return {};
    }
    std::vector<RecipeEntry> entries = stream->stored_entries(*ids);
    stream->pop_stored();
    return entries;
  }
  // A region could not be written: from now on, no batch is stored.
  void find_out_that_the_disk_is_full() {
    stream->feed(noise(10'000, 2));
    stream->cut(true);
    stream->put();
    land();
    volume->chunks().close_regions();
    while (volume->chunks().waiting_bytes() != 0) std::this_thread::yield();
    begin();
  }
  static ByteBuffer noise(std::size_t bytes, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    ByteBuffer buffer(bytes);
    for (auto& byte : buffer) byte = static_cast<std::uint8_t>(random());
    return buffer;
  }
  static std::uint64_t length_of(const std::vector<RecipeEntry>& entries) {
    std::uint64_t length = 0;
    for (const RecipeEntry& entry : entries) length += entry.length;
    return length;
  }
  // What can be read of it, zeros in holes.
  ByteBuffer content() const {
    ByteBuffer bytes;
    for (std::uint64_t at = stream->stored_end(); at < stream->end();) {
      const WriteStream::Part part = stream->part_at(at);
      EXPECT_EQ(part.offset, at);
      if (part.bytes.bytes.empty())
        bytes.insert(bytes.end(), part.length, 0);
      else
        bytes.insert(bytes.end(), part.bytes.bytes.begin(), part.bytes.bytes.end());
      at += part.length;
    }
    return bytes;
  }
};

TEST_F(WriteStreamTest, TheLastBatchCanBeStoredByItsUser) {
  EXPECT_FALSE(stream->begin_put()) << "no piece waits";
  const ByteBuffer bytes = noise(10'000);
  stream->feed(bytes);
  stream->cut(true);

  const ChunkWriter::Work work = stream->begin_put();

  EXPECT_TRUE(stream->in_flight());
  EXPECT_TRUE(results.empty());
  EXPECT_EQ(content(), bytes);
  work();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(length_of(land()), bytes.size());
  EXPECT_FALSE(stream->in_flight());
}

TEST_F(WriteStreamTest, IsEmptyAtItsStart) {
  EXPECT_EQ(stream->end(), kStart);
  EXPECT_EQ(stream->stored_end(), kStart);
  EXPECT_FALSE(stream->in_flight());
  stream->cut(true);
  stream->put();
  EXPECT_FALSE(stream->in_flight()) << "nothing is no batch";
  EXPECT_TRUE(stream->unput_parts().empty());
}

TEST_F(WriteStreamTest, WhatWasFedCanBeReadInEachState) {
  const ByteBuffer bytes = noise(50'000);
  stream->feed(ByteSpan(bytes).first(20'000));
  stream->feed(ByteSpan(bytes).subspan(20'000));
  EXPECT_EQ(stream->end(), kStart + bytes.size());
  EXPECT_EQ(content(), bytes) << "not cut";

  stream->cut(true);
  EXPECT_EQ(content(), bytes) << "cut";

  stream->put();
  EXPECT_TRUE(stream->in_flight());
  EXPECT_GE(stream->in_flight_bytes(), bytes.size());
  EXPECT_EQ(content(), bytes) << "in flight";
}

TEST_F(WriteStreamTest, WhatIsStoredIsInTheRecipe) {
  const ByteBuffer bytes = noise(50'000);
  stream->feed(bytes);
  stream->cut(true);
  stream->put();
  EXPECT_EQ(stream->stored_offset(), kStart);

  const auto entries = land();

  EXPECT_EQ(length_of(entries), bytes.size());
  EXPECT_EQ(stream->stored_end(), kStart + bytes.size());
  EXPECT_EQ(stream->in_flight_bytes(), 0u);
  ByteBuffer stored;
  for (const RecipeEntry& entry : entries) {
    ASSERT_TRUE(entry.kind == RecipeEntry::Kind::kChunk);
    const auto chunk = volume->chunks().get(entry.chunk);
    ASSERT_TRUE(chunk);
    stored.insert(stored.end(), chunk->bytes.begin(), chunk->bytes.end());
  }
  EXPECT_EQ(stored, bytes);
}

TEST_F(WriteStreamTest, AHoleTakesNoSpaceAndEndsTheChunkBefore) {
  stream->feed(noise(100));
  stream->feed_hole(std::uint64_t{1} << 50);
  stream->feed(noise(200));
  EXPECT_TRUE(stream->part_at(kStart + 100).bytes.bytes.empty());
  EXPECT_EQ(stream->part_at(kStart + 150).length, (std::uint64_t{1} << 50) - 50) << "from there on";
  stream->cut(true);
  stream->put();

  const auto entries = land();

  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].length, 100u);
  EXPECT_TRUE(entries[1].kind == RecipeEntry::Kind::kHole);
  EXPECT_EQ(entries[1].length, std::uint64_t{1} << 50);
  EXPECT_EQ(entries[2].length, 200u);
}

// Single bytes between holes would make a batch without end.
TEST_F(WriteStreamTest, ManyShortPiecesGoInSeveralBatches) {
  for (int i = 0; i < 5000; ++i) {
    stream->feed(noise(1));
    stream->feed_hole(5000);
  }
  stream->cut(true);
  stream->put();

  std::size_t batches = 0;
  std::size_t entries = 0;
  for (; stream->in_flight(); ++batches) entries += land().size();

  EXPECT_EQ(entries, 10'000u);
  EXPECT_GT(batches, 1u);
}

TEST_F(WriteStreamTest, LongContentIsPutWhileItIsFed) {
  const ByteBuffer bytes = noise(5 << 20);
  stream->feed(bytes);
  EXPECT_TRUE(stream->in_flight());
  EXPECT_EQ(content(), bytes);

  stream->cut(true);
  stream->put();
  std::uint64_t stored = 0;
  while (stream->in_flight()) stored += length_of(land());
  EXPECT_EQ(stored, bytes.size());
}

TEST_F(WriteStreamTest, WhatFollowsABoundaryCanBeDropped) {
  const ByteBuffer bytes = noise(100'000);
  stream->feed(bytes);
  stream->cut(false);
  const auto ends = stream->cut_ends(0);
  ASSERT_GT(ends.size(), 5u);
  EXPECT_EQ(stream->cut_ends(ends[3]).front(), ends[3]) << "from this offset on";
  EXPECT_EQ(stream->cut_ends(ends[3] + 1).front(), ends[4]);

  stream->drop_from(ends[2]);

  EXPECT_EQ(stream->end(), ends[2]);
  EXPECT_EQ(content(), ByteBuffer(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(ends[2] - kStart)));
  stream->feed(ByteSpan(bytes).first(10));
  EXPECT_EQ(stream->end(), ends[2] + 10) << "it goes on there";
}

TEST_F(WriteStreamTest, WhatWasNotPutCanBeTakenBack) {
  const ByteBuffer bytes = noise(30'000);
  stream->feed(bytes);
  stream->cut(true);
  stream->put();
  stream->feed(ByteSpan(bytes).first(20'000));
  stream->cut(false);
  ByteBuffer unput;
  for (const WriteStream::Part& part : stream->unput_parts())
    unput.insert(unput.end(), part.bytes.bytes.begin(), part.bytes.bytes.end());
  EXPECT_EQ(unput, ByteBuffer(bytes.begin(), bytes.begin() + 20'000));

  stream->drop_unput();

  EXPECT_EQ(stream->end(), kStart + bytes.size());
  EXPECT_EQ(content(), bytes) << "what is in flight stays";
}

TEST_F(WriteStreamTest, ItsMemoryIsChargedAndComesBack) {
  const std::uint64_t idle = budget.used_bytes();
  stream->feed(noise(300'000));
  EXPECT_GE(budget.used_bytes(), idle + 300'000);
  stream->cut(true);
  stream->put();
  while (stream->in_flight()) land();
  stream->drop_unput();

  // A thread of the pool may hold the block for a moment yet.
  while (budget.used_bytes() != idle) std::this_thread::yield();
}

TEST_F(WriteStreamTest, LittleContentTakesLittleMemory) {
  begin(/*expected_bytes=*/100);
  const std::uint64_t idle = budget.used_bytes();

  stream->feed(noise(100));

  EXPECT_LE(budget.used_bytes(), idle + 4096);
}

// Readers hold what they read, also when the stream is gone.
TEST_F(WriteStreamTest, APieceThatSomebodyReadsStays) {
  const ByteBuffer bytes = noise(10'000);
  stream->feed(bytes);
  WriteStream::Part part = stream->part_at(kStart);
  stream->drop_unput();
  stream.reset();

  EXPECT_TRUE(std::ranges::equal(part.bytes.bytes, bytes));
  EXPECT_GT(budget.used_bytes(), 0u);
  part = {};
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST_F(WriteStreamTest, WhatCouldNotBeStoredStaysReadable) {
  backing->fault = [](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (operation != "write" || path.extension() != ".container") return std::nullopt;
    return Error{ErrorCode::kNoSpace, "the disk is full"};
  };
  find_out_that_the_disk_is_full();
  const ByteBuffer bytes = noise(4 << 20);
  stream->feed(bytes);
  stream->feed_hole(10'000);
  stream->cut(true);
  stream->put();
  while (stream->in_flight()) land();
  ASSERT_FALSE(stream->failed_parts().empty());
  ByteBuffer expected = bytes;
  expected.resize(bytes.size() + 10'000);
  EXPECT_EQ(content(),
            ByteBuffer(expected.begin() + static_cast<std::ptrdiff_t>(stream->stored_end() - kStart), expected.end()));

  std::uint64_t failed = 0;
  for (auto parts = stream->failed_parts(); !parts.empty(); parts = stream->failed_parts()) {
    EXPECT_EQ(parts.front().offset, stream->stored_end());
    for (const WriteStream::Part& part : parts) failed += part.length;
    stream->pop_failed();
  }
  EXPECT_EQ(stream->stored_end(), stream->end());
  EXPECT_GT(failed, 10'000u);
}

}  // namespace
}  // namespace dedupfs
