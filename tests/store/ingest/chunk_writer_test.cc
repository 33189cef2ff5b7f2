#include "store/ingest/chunk_writer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "sample_ingest.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

std::vector<ByteBuffer> random_chunks(std::size_t count, std::size_t bytes, std::uint64_t seed = 0) {
  std::vector<ByteBuffer> chunks;
  for (std::size_t i = 0; i < count; ++i) chunks.push_back(random_bytes(bytes, seed + i));
  return chunks;
}

class ChunkWriterTest : public testing::Test {
 protected:
  std::vector<ChunkId> put(ChunkWriter& writer, const std::vector<ByteBuffer>& chunks) {
    const auto ids = SampleIngest::put(writer, chunks);
    EXPECT_TRUE(ids);
    return ids ? *ids : std::vector<ChunkId>();
  }
  std::string read(ChunkId id) {
    const auto chunk = store_.reader->get(id);
    return chunk ? std::string(text_of(chunk->bytes.bytes)) : "error: " + chunk.error().message();
  }

  SampleIngest store_;
};

TEST_F(ChunkWriterTest, EachChunkCanBeReadAtOnceAndAfterTheCommit) {
  ChunkWriter writer(*store_.ingest);
  const auto chunks = random_chunks(30, 4000);
  const auto ids = put(writer, chunks);
  for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(read(ids[i]), text_of(chunks[i]));
  store_.commit();
  for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(read(ids[i]), text_of(chunks[i]));
}

TEST_F(ChunkWriterTest, EqualChunksAreStoredOnce) {
  ChunkWriter writer(*store_.ingest);
  const auto chunks = random_chunks(2, 4000);
  const auto first = put(writer, {chunks[0], chunks[1], chunks[0]});
  EXPECT_EQ(first[0], first[2]);
  EXPECT_NE(first[0], first[1]);
  store_.commit();
  ChunkWriter other(*store_.ingest);
  EXPECT_EQ(put(other, {chunks[1], chunks[0]}), (std::vector{first[1], first[0]}));
}

TEST_F(ChunkWriterTest, TheChunksOfAStreamHaveConsecutiveIds) {
  ChunkWriter writer(*store_.ingest);
  const auto ids = put(writer, random_chunks(60, 3000));
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(number_of(ids[i]), number_of(ids[0]) + i);
}

TEST_F(ChunkWriterTest, AnswersComeInTheOrderOfTheBatches) {
  constexpr int kBatches = 100;
  ChunkWriter writer(*store_.ingest);
  const ByteBuffer large = random_bytes(500'000, 1);
  const ByteBuffer small = random_bytes(10, 2);
  std::vector<int> order;
  std::promise<void> finished;
  for (int i = 0; i < kBatches; ++i) {
    ChunkWriter::Batch batch;
    batch.chunks.emplace_back(i % 2 == 0 ? large : small);
    batch.done = [&, i](const Result<std::vector<ChunkId>>&) {
      order.push_back(i);
      if (i + 1 == kBatches) finished.set_value();
    };
    writer.put(std::move(batch));
  }
  finished.get_future().wait();
  std::vector<int> expected(kBatches);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST_F(ChunkWriterTest, ACallerCanDoTheWorkItself) {
  ChunkWriter writer(*store_.ingest);
  const ByteBuffer bytes = random_bytes(5000, 1);
  std::vector<ChunkId> stored;
  std::thread::id worker;
  ChunkWriter::Batch batch;
  batch.chunks.emplace_back(bytes);
  batch.done = [&](const Result<std::vector<ChunkId>>& ids) {
    ASSERT_TRUE(ids);
    stored = *ids;
    worker = std::this_thread::get_id();
  };

  const ChunkWriter::Work work = writer.begin(std::move(batch));
  EXPECT_TRUE(stored.empty());
  work();

  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(worker, std::this_thread::get_id());
  EXPECT_EQ(read(stored[0]), text_of(bytes));
}

TEST_F(ChunkWriterTest, ItsOwnWorkComesInTheOrderOfTheBatchesToo) {
  ChunkWriter writer(*store_.ingest);
  const ByteBuffer large = random_bytes(500'000, 1);
  const ByteBuffer small = random_bytes(10, 2);
  std::vector<int> order;
  std::promise<void> finished;
  const auto batch = [&](int number, const ByteBuffer& bytes) {
    ChunkWriter::Batch made;
    made.chunks.emplace_back(bytes);
    made.done = [&, number](const Result<std::vector<ChunkId>>&) {
      order.push_back(number);
      if (number == 2) finished.set_value();
    };
    return made;
  };

  writer.put(batch(0, large));
  const ChunkWriter::Work second = writer.begin(batch(1, small));
  writer.put(batch(2, small));
  second();

  finished.get_future().wait();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST_F(ChunkWriterTest, WhoHearsOfABatchHasItsMemoryBack) {
  ChunkWriter writer(*store_.ingest);
  auto bytes = std::make_shared<const ByteBuffer>(random_bytes(1000, 1));
  const std::weak_ptr<const ByteBuffer> watched = bytes;
  std::promise<bool> is_gone;
  ChunkWriter::Batch batch;
  batch.chunks.emplace_back(*bytes);
  batch.owner = std::move(bytes);
  batch.done = [&](const Result<std::vector<ChunkId>>&) { is_gone.set_value(watched.expired()); };
  writer.put(std::move(batch));
  EXPECT_TRUE(is_gone.get_future().get());
}

TEST_F(ChunkWriterTest, StreamsAtOneTimeStoreEqualContentOnce) {
  const auto chunks = random_chunks(100, 4000);
  std::vector<std::vector<ChunkId>> ids(4);
  std::vector<std::thread> threads;
  for (auto& of_stream : ids)
    threads.emplace_back([&] {
      ChunkWriter writer(*store_.ingest);
      of_stream = put(writer, chunks);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& of_stream : ids) EXPECT_EQ(of_stream, ids[0]);
}

TEST_F(ChunkWriterTest, WhatStreamsReferToIsNoted) {
  store_.ingest->recent_references.start();
  ChunkWriter writer(*store_.ingest);
  const auto chunks = random_chunks(2, 1000);
  const auto ids = put(writer, {chunks[0], chunks[1], chunks[0]});
  put(writer, {chunks[1]});
  const auto noted = store_.ingest->recent_references.take();
  ASSERT_TRUE(noted);
  EXPECT_EQ(noted->ids, (std::vector{ids[0], ids[1], ids[0], ids[1]}));
  EXPECT_EQ(noted->bytes, 4000U);
}

TEST(ChunkWriter, WithoutAnIdThereIsNoChunk) {
  SampleIngest store(kEndOfChunkIds - 10);
  ChunkWriter writer(*store.ingest);
  const auto ids = SampleIngest::put(writer, random_chunks(1, 100));
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(store.pending.open_is_empty());
}

TEST(ChunkWriter, NearDuplicatesTakeLittle) {
  const DeltaSettings settings = parse_delta_settings("odess+").value();
  SampleIngest store(1, &settings);
  ChunkWriter writer(*store.ingest);
  const ByteBuffer chunk = random_bytes(16 << 10, 1);
  ByteBuffer near = chunk;
  near[5000] ^= 1;
  ASSERT_TRUE(SampleIngest::put(writer, {chunk}));
  store.commit();
  const auto ids = SampleIngest::put(writer, {near});
  ASSERT_TRUE(ids);
  const auto stored = store.pending.locate(ids->front());
  ASSERT_TRUE(stored);
  EXPECT_TRUE(stored->entry.is_delta());
  EXPECT_LT(stored->entry.payload_length, 200U);
}

TEST(ChunkWriter, MetersEachStageByBatch) {
  const DeltaSettings settings = parse_delta_settings("odess+").value();
  SampleIngest store(1, &settings);
  ChunkWriter writer(*store.ingest);
  const auto chunks = random_chunks(4, 16 << 10);
  ASSERT_TRUE(SampleIngest::put(writer, chunks));

  ASSERT_TRUE(SampleIngest::put(writer, {chunks[0], chunks[1], random_bytes(5000, 9)}));

  const auto reading = [&](IngestStage stage) { return store.ingest->meter.of(stage).read(); };
  constexpr std::uint64_t kAll = 6 * (16 << 10) + 5000;
  EXPECT_EQ(reading(IngestStage::kFingerprint).batches, 2u);
  EXPECT_EQ(reading(IngestStage::kFingerprint).bytes, kAll);
  EXPECT_EQ(reading(IngestStage::kLookUp).batches, 2u);
  EXPECT_EQ(reading(IngestStage::kLookUp).bytes, kAll);
  EXPECT_EQ(reading(IngestStage::kDelta).batches, 2u);
  EXPECT_EQ(reading(IngestStage::kDelta).bytes, 4 * (16 << 10) + 5000u) << "of new chunks only";
  for (const IngestStage stage : {IngestStage::kFingerprint, IngestStage::kLookUp, IngestStage::kDelta})
    EXPECT_GT(reading(stage).seconds, 0);
}

// Too much of it is new for its features to show where it comes from.
TEST_F(ChunkWriterTest, AChunkThatReplacesAnotherIsADeltaOfThatOne) {
  const DeltaSettings settings = parse_delta_settings("odess+").value();
  SampleIngest store(1, &settings);
  ChunkWriter writer(*store.ingest);
  const ByteBuffer old = random_bytes(16 << 10, 1);
  ByteBuffer overwritten = old;
  const ByteBuffer noise = random_bytes(overwritten.size(), 2);
  for (std::size_t i = 0; i < overwritten.size(); i += 50)
    std::copy_n(noise.begin() + static_cast<std::ptrdiff_t>(i), 8,
                overwritten.begin() + static_cast<std::ptrdiff_t>(i));
  const ByteBuffer other = random_bytes(16 << 10, 3);
  const auto olds = SampleIngest::put(writer, {random_bytes(16 << 10, 4), old});
  ASSERT_TRUE(olds);
  store.commit();

  std::promise<std::vector<ChunkId>> answer;
  ChunkWriter::Batch batch;
  batch.chunks = {other, overwritten};
  batch.replaced = {{}, {olds->at(1)}};
  batch.done = [&](Result<std::vector<ChunkId>> ids) { answer.set_value(ids.value()); };
  writer.put(std::move(batch));
  const std::vector<ChunkId> ids = answer.get_future().get();

  EXPECT_FALSE(store.pending.locate(ids.at(0))->entry.is_delta());
  const auto stored = store.pending.locate(ids.at(1));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->entry.sources, (DeltaSources{olds->at(1)}));
  EXPECT_EQ(text_of(store.reader->get(ids.at(1))->bytes.bytes), text_of(overwritten));
}

}  // namespace
}  // namespace dedupfs
