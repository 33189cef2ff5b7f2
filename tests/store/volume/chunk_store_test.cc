#include "store/volume/chunk_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <numeric>
#include <random>

#include "store/chunks/chunk_index.h"
#include "store/chunks/damage_record.h"
#include "store/ingest/chunk_writer.h"
#include "store/sample_region.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

// Flips a byte in the middle of the only container.
void damage(const std::filesystem::path& containers) {
  for (const auto& entry : std::filesystem::directory_iterator(containers)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(entry.file_size() / 2));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file.put(byte);
  }
}

class ChunkStoreTest : public ::testing::Test {
 protected:
  ChunkStoreTest() {
    EXPECT_TRUE(Database::create(folder_at(dir_.path() / "index")));
    open();
  }

  void open() {
    database_ = std::move(*Database::open(folder_at(dir_.path() / "index"), {}));
    ContainerStore::Settings containers;
    containers.volume_uuid = "01234567-89ab-4def-8123-456789abcdef";
    containers.container_bytes = 4 << 20;
    containers_ = std::move(*ContainerStore::open(folder_at(dir_.path() / "containers"), containers));
    ChunkStore::Settings settings;
    settings.threads = 4;
    settings.delta = delta_;
    auto opened = ChunkStore::open(containers_, *database_, settings);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }

  void close() {
    writer_.reset();
    store_.reset();
    containers_.reset();
    database_.reset();
  }

  // A chunk that is found damaged.
  std::vector<ChunkId> put_and_lose(const ByteBuffer& chunk) {
    auto id = put({chunk});
    commit();
    close();
    damage(dir_.path() / "containers");
    open();
    EXPECT_THAT(read(id[0]), ::testing::StartsWith("error: "));
    return id;
  }

  void commit() {
    store_->freeze();
    Database::Batch batch(*database_);
    ASSERT_TRUE(store_->append_to(batch));
    ASSERT_TRUE(database_->write(batch));
    store_->committed();
  }

  // Puts chunks as one batch and waits for their ids.
  std::vector<ChunkId> put(const std::vector<ByteBuffer>& chunks) {
    if (!writer_) writer_ = store_->open_writer();
    std::promise<std::vector<ChunkId>> ids;
    ChunkWriter::Batch batch;
    for (const ByteBuffer& chunk : chunks) batch.chunks.emplace_back(chunk);
    batch.done = [&](Result<std::vector<ChunkId>> result) {
      EXPECT_TRUE(result);
      ids.set_value(result ? *result : std::vector<ChunkId>());
    };
    writer_->put(std::move(batch));
    return ids.get_future().get();
  }

  std::string read(ChunkId id) {
    const auto bytes = store_->get(id);
    return bytes ? std::string(text_of(bytes->bytes)) : "error: " + bytes.error().message();
  }

  std::uint64_t container_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir_.path() / "containers")) bytes += file.file_size();
    return bytes;
  }

  TempDir dir_;
  DeltaSettings delta_;  // from the next open() on
  std::unique_ptr<Database> database_;
  std::shared_ptr<ContainerStore> containers_;
  std::unique_ptr<ChunkStore> store_;
  std::unique_ptr<ChunkWriter> writer_;
};

TEST_F(ChunkStoreTest, GivesBackAChunkBeforeAndAfterCommitAndReopening) {
  const ByteBuffer chunk = random_bytes(10000, 1);
  const std::string text(text_of(chunk));

  const ChunkId id = put({chunk}).front();
  EXPECT_EQ(read(id), text);
  store_->freeze();
  EXPECT_EQ(read(id), text);
  Database::Batch batch(*database_);
  ASSERT_TRUE(store_->append_to(batch));
  EXPECT_EQ(read(id), text);
  ASSERT_TRUE(database_->write(batch));
  store_->committed();
  EXPECT_EQ(read(id), text);
  close();
  open();
  EXPECT_EQ(read(id), text);
}

TEST_F(ChunkStoreTest, StoresEqualChunksOnce) {
  const ByteBuffer a = random_bytes(5000, 1);
  const ByteBuffer b = random_bytes(5000, 2);

  const auto first = put({a, b, a});
  const auto open_group = put({b, a});
  commit();
  const auto committed = put({b, a});
  close();
  open();
  const auto reopened = put({a, b});

  EXPECT_EQ(first[0], first[2]);
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(open_group, (std::vector{first[1], first[0]}));
  EXPECT_EQ(committed, open_group);
  EXPECT_EQ(reopened, (std::vector{first[0], first[1]}));
}

TEST_F(ChunkStoreTest, FindsDuplicatesOfAGroupThatIsBeingCommitted) {
  const ByteBuffer a = random_bytes(5000, 1);
  const auto first = put({a});

  store_->freeze();

  EXPECT_EQ(put({a}), first);
  EXPECT_EQ(store_->open_bytes(), 0U);
}

TEST_F(ChunkStoreTest, NeverHandsOutAnIdTwiceEvenAfterACrash) {
  const auto lost = put({random_bytes(100, 1)});
  commit();
  const auto uncommitted = put({random_bytes(100, 2)});
  const auto copy = dir_.path() / "crashed-index";
  std::filesystem::copy(dir_.path() / "index", copy);
  close();
  std::filesystem::remove_all(dir_.path() / "index");
  std::filesystem::rename(copy, dir_.path() / "index");

  open();
  const auto next = put({random_bytes(100, 3)});

  EXPECT_GT(number_of(next[0]), number_of(uncommitted[0]));
  EXPECT_GT(number_of(next[0]), number_of(lost[0]));
}

TEST_F(ChunkStoreTest, IncompressibleDataCostsAtMostOnePercentMore) {
  const std::size_t chunk_bytes = 16384;
  std::vector<ByteBuffer> chunks;
  for (unsigned i = 0; i < 500; ++i) chunks.push_back(random_bytes(chunk_bytes, i));

  put(chunks);
  commit();

  EXPECT_LE(container_bytes(), chunks.size() * chunk_bytes * 101 / 100);
}

TEST_F(ChunkStoreTest, ConcurrentStreamsOfTheSameDataStoreItOnce) {
  constexpr int kStreams = 4;
  std::vector<ByteBuffer> chunks;
  for (unsigned i = 0; i < 300; ++i) chunks.push_back(random_bytes(4000, i));
  std::vector<std::vector<ChunkId>> ids(kStreams);
  std::vector<std::thread> threads;

  for (int stream = 0; stream < kStreams; ++stream) {
    threads.emplace_back([&, stream] {
      auto writer = store_->open_writer();
      std::promise<void> finished;
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        ChunkWriter::Batch batch;
        batch.chunks.emplace_back(chunks[i]);
        batch.done = [&, i](const Result<std::vector<ChunkId>>& result) {
          ids[static_cast<std::size_t>(stream)].push_back(result->front());
          if (i + 1 == chunks.size()) finished.set_value();
        };
        writer->put(std::move(batch));
      }
      finished.get_future().wait();
    });
  }
  for (auto& thread : threads) thread.join();
  commit();

  for (int stream = 1; stream < kStreams; ++stream) EXPECT_EQ(ids[static_cast<std::size_t>(stream)], ids[0]);
  for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(read(ids[0][i]), text_of(chunks[i]));
  EXPECT_LE(container_bytes(), chunks.size() * 4000 * 102 / 100 + 65536);
}

TEST_F(ChunkStoreTest, ReportsAFlippedBitAndNamesTheContainer) {
  const ByteBuffer chunk = random_bytes(20000, 1);
  const ChunkId id = put({chunk}).front();
  commit();
  close();
  const auto file =
      dir_.path() / "containers" / std::filesystem::directory_iterator(dir_.path() / "containers")->path().filename();
  auto backing = folder_at(file.parent_path())->open(file.filename().string(), Backing::Mode::kReadWrite);
  ByteBuffer byte(1);
  ASSERT_TRUE((*backing)->read(10000, byte));
  byte[0] ^= 1;
  ASSERT_TRUE((*backing)->write(10000, byte));

  open();
  const auto bytes = store_->get(id);

  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(bytes.error().message().find(file.filename().string()), std::string::npos) << bytes.error().message();
}

TEST_F(ChunkStoreTest, AnUnknownIdIsCorruptionNotACrash) {
  const auto bytes = store_->get(ChunkId{12345});

  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), ErrorCode::kCorruption);
}

// ---------------------------------------------------------------- near-duplicates

class DeltaChunkStoreTest : public ChunkStoreTest {
 protected:
  DeltaChunkStoreTest() {
    delta_.method = "odess+";
    reopen();
  }

  void reopen() {
    close();
    open();
  }
  // Of stored chunks.
  std::size_t count_deltas() const {
    std::size_t deltas = 0;
    EXPECT_TRUE(database_->walk(*database_->snapshot(), Family::kChunks, [&](auto key, auto value) {
      const auto extent = decode_extent(key, value);
      EXPECT_TRUE(extent);
      deltas += static_cast<std::size_t>(std::ranges::count_if(extent->chunks, &ChunkExtent::Chunk::is_delta));
      return true;
    }));
    return deltas;
  }
  void expect_all(const std::vector<ChunkId>& ids, const std::vector<ByteBuffer>& chunks) {
    ASSERT_EQ(ids.size(), chunks.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(read(ids[i]), text_of(chunks[i])) << "chunk " << i;
  }
};

std::vector<ByteBuffer> random_chunks(std::size_t count, std::size_t bytes) {
  std::vector<ByteBuffer> chunks;
  for (unsigned i = 0; i < count; ++i) chunks.push_back(random_bytes(bytes, i + 1));
  return chunks;
}

// A byte of each chunk is another in each version.
std::vector<ByteBuffer> next_version(std::vector<ByteBuffer> chunks, std::size_t version) {
  for (ByteBuffer& chunk : chunks) chunk[(version * 977) % chunk.size()] ^= 0x55;
  return chunks;
}

TEST_F(DeltaChunkStoreTest, VersionsComeBackBeforeAndAfterCommitAndReopening) {
  std::vector<std::vector<ByteBuffer>> versions = {random_chunks(20, 10'000)};
  for (std::size_t i = 1; i < 8; ++i) versions.push_back(next_version(versions.back(), i));
  std::vector<std::vector<ChunkId>> ids;

  for (std::size_t i = 0; i < versions.size(); ++i) {
    ids.push_back(put(versions[i]));
    expect_all(ids[i], versions[i]);
    if (i % 3 == 2) commit();
    if (i % 4 == 3) {
      commit();
      reopen();
    }
    for (std::size_t old = 0; old <= i; ++old) expect_all(ids[old], versions[old]);
  }

  EXPECT_GE(count_deltas(), 7 * 20 * 9U / 10);
  EXPECT_LT(container_bytes(), 2U * 20 * 10'000);
}

TEST_F(DeltaChunkStoreTest, SmallChangesTakeLittleSpaceWhereverTheyAre) {
  const auto chunks = random_chunks(50, 10'000);
  put(chunks);
  commit();
  const std::uint64_t before = container_bytes();

  put(next_version(chunks, 1));
  commit();

  EXPECT_LT(container_bytes() - before, 50U * 1000);
}

TEST_F(DeltaChunkStoreTest, WithoutDeltasTheSameComesBack) {
  const auto old = random_chunks(20, 10'000);
  const auto changed = next_version(old, 1);
  const auto old_ids = put(old);
  const auto changed_ids = put(changed);
  commit();
  const std::size_t deltas = count_deltas();

  delta_ = {};
  reopen();
  const auto newest = next_version(changed, 2);
  const auto newest_ids = put(newest);
  commit();

  EXPECT_GT(deltas, 0U);
  EXPECT_EQ(count_deltas(), deltas) << "no new ones";
  expect_all(old_ids, old);
  expect_all(changed_ids, changed);
  expect_all(newest_ids, newest);
  EXPECT_EQ(put(changed), changed_ids) << "a delta is a duplicate like any other chunk";
}

TEST_F(DeltaChunkStoreTest, EqualChunksAreStoredOnceAlsoWhereTheyAreDeltas) {
  const auto old = random_chunks(10, 10'000);
  put(old);
  const auto changed = next_version(old, 1);

  const auto first = put(changed);
  const auto again = put(changed);
  commit();
  reopen();

  EXPECT_EQ(again, first);
  EXPECT_EQ(put(changed), first);
}

// Random edits of random chunks, in random batches, with commits, reopenings and switches of the settings between them.
TEST_F(DeltaChunkStoreTest, WhateverIsWrittenComesBack) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  std::vector<std::pair<ChunkId, ByteBuffer>> stored;

  const auto make_chunk = [&]() -> ByteBuffer {
    if (stored.empty() || below(4) == 0) return random_bytes(1 + below(20'000), static_cast<unsigned>(random()));
    ByteBuffer chunk = stored[below(stored.size())].second;
    for (std::size_t edits = below(4); edits > 0 && !chunk.empty(); --edits) {
      const auto at = chunk.begin() + static_cast<std::ptrdiff_t>(below(chunk.size()));
      const ByteBuffer inserted = random_bytes(1 + below(50), static_cast<unsigned>(random()));
      switch (below(3)) {
        case 0: *at ^= 1; break;
        case 1: chunk.insert(at, inserted.begin(), inserted.end()); break;
        default:
          chunk.erase(at,
                      chunk.begin() + std::min<std::ptrdiff_t>(chunk.end() - chunk.begin(), at - chunk.begin() + 50));
      }
    }
    return chunk.empty() ? ByteBuffer(1) : chunk;
  };

  for (int step = 0; step < 60; ++step) {
    std::vector<ByteBuffer> chunks;
    for (std::size_t i = 0; i < 1 + below(20); ++i) chunks.push_back(make_chunk());
    const auto ids = put(chunks);
    ASSERT_EQ(ids.size(), chunks.size());
    for (std::size_t i = 0; i < ids.size(); ++i) stored.emplace_back(ids[i], chunks[i]);
    if (below(5) == 0) commit();
    if (below(10) == 0) {
      commit();
      delta_.depth = static_cast<std::uint8_t>(1 + below(6));
      delta_.neighbours = static_cast<std::uint8_t>(below(4));
      reopen();
    }
    const auto& [id, chunk] = stored[below(stored.size())];
    ASSERT_EQ(read(id), text_of(chunk)) << "step " << step;
  }
  commit();
  reopen();

  for (const auto& [id, chunk] : stored) ASSERT_EQ(read(id), text_of(chunk)) << "chunk " << number_of(id);
  EXPECT_GT(count_deltas(), 0U);
}

TEST_F(ChunkStoreTest, AChunkThatWasFoundDamagedIsStoredAnewWhenItsContentComesAgain) {
  std::vector<ByteBuffer> chunks;
  for (unsigned seed = 0; seed < 5; ++seed) chunks.push_back(random_bytes(5000, seed));
  const auto ids = put(chunks);
  commit();
  close();
  damage(dir_.path() / "containers");
  open();
  EXPECT_THAT(read(ids[2]), ::testing::StartsWith("error: "));
  EXPECT_EQ(store_->damage().damaged_chunks(), 5U);  // they share a region

  EXPECT_EQ(put({chunks[2], chunks[2], chunks[4]}), (std::vector{ids[2], ids[2], ids[4]}));
  EXPECT_EQ(read(ids[2]), text_of(chunks[2]));
  commit();
  EXPECT_EQ(store_->damage().damaged_chunks(), 3U);
  EXPECT_EQ(store_->damage().healed_chunks(), 2U);
  for (int i = 0; i < 2; ++i) {
    for (const std::size_t healed : {2U, 4U}) EXPECT_EQ(read(ids[healed]), text_of(chunks[healed]));
    for (const std::size_t lost : {0U, 1U, 3U}) EXPECT_THAT(read(ids[lost]), ::testing::StartsWith("error: "));
    close();
    open();
    EXPECT_EQ(store_->damage().damaged_chunks(), 3U);
  }
}

// Their ids are not in order there, and the region is read from the cache.
TEST_F(ChunkStoreTest, AChunkThatWasStoredAnewIsFoundInARegionWithNewOnes) {
  const ByteBuffer chunk = random_bytes(5000, 1);
  const auto id = put_and_lose(chunk);

  std::vector<ByteBuffer> chunks;
  for (unsigned seed = 2; seed < 80; ++seed) chunks.push_back(random_bytes(5000, seed));
  chunks.push_back(chunk);
  const auto ids = put(chunks);
  EXPECT_EQ(ids.back(), id[0]);
  commit();

  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(read(ids[i]), text_of(chunks[i])) << i;
}

TEST_F(ChunkStoreTest, WhatWasTakenForDamagedAndIsNotIsNoLongerStoredTwice) {
  const ByteBuffer chunk = random_bytes(5000, 1);
  const auto id = put_and_lose(chunk);
  put({random_bytes(5000, 2)});
  commit();  // the next mount knows of it
  close();
  std::filesystem::remove(dir_.path() / "containers/0000000002.container");
  damage(dir_.path() / "containers");  // back
  open();
  EXPECT_EQ(store_->damage().damaged_chunks(), 1U);
  const auto bytes = container_bytes();
  EXPECT_EQ(put({chunk}), id);
  commit();
  EXPECT_EQ(store_->damage().damaged_chunks(), 0U);
  EXPECT_EQ(store_->damage().healed_chunks(), 0U);
  EXPECT_EQ(container_bytes(), bytes);
}

}  // namespace
}  // namespace dedupfs
