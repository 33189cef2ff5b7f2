// Reading ahead. What a file in a bucket reads is in bucket_backing_test.cc.
#include "replica/object_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fake_image.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using Operation = MemoryBucket::Operation;

constexpr std::uint32_t kBlockBytes = 16;
constexpr std::size_t kBlocks = 40;

class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    for (std::size_t i = 0; i < kBlocks * kBlockBytes; ++i) content_ += static_cast<char>('a' + i % 23);
    Writer writer(bucket_);
    EXPECT_TRUE(writer.attach());
    EXPECT_TRUE(
        writer.ship({{"containers/00000001.container", content_}, {"containers/00000002.container", content_}}));
    bucket_.set_hook([this](const MemoryBucket::Call& call, MemoryBucket::When when) {
      if (call.operation == Operation::kRead && when == MemoryBucket::When::kBefore) ++reads_;
    });
  }

  void open(std::size_t parallel, std::uint64_t cache_bytes = 1 << 20) {
    const auto replica = load_replica(bucket_).value();
    reads_ = 0;
    blocks_.emplace(shared_bucket(bucket_), ObjectBlocks::Settings{.cache_bytes = cache_bytes,
                                                                   .block_bytes = kBlockBytes,
                                                                   .parallel = parallel,
                                                                   .rest_after_failure = std::chrono::hours(1)});
    for (const char* const name : {"containers/00000001.container", "containers/00000002.container"})
      files_.emplace_back(name, replica->files.at(name), name);
  }
  // The block is read, in parts; everything that is read ahead has arrived.
  void read_block(std::size_t block, std::size_t file = 0) {
    ByteBuffer part(kBlockBytes / 2);
    for (const std::size_t half : {0U, 1U}) {
      const std::size_t offset = block * kBlockBytes + half * part.size();
      ASSERT_EQ(files_.at(file).read_up_to(*blocks_, offset, part).value(), part.size());
      EXPECT_EQ(text_of(part), content_.substr(offset, part.size()));
    }
    blocks_->finish_reading_ahead();
  }
  std::size_t reads_for_block(std::size_t block, std::size_t file = 0) {
    const int before = reads_;
    read_block(block, file);
    return static_cast<std::size_t>(reads_ - before);
  }

  std::string content_;
  MemoryBucket bucket_;
  std::atomic<int> reads_ = 0;
  std::vector<FileInBucket> files_;
  std::optional<ObjectBlocks> blocks_;  // goes first
};

TEST_F(ReadAheadTest, GrowsAsLongAsAFileIsReadFromBlockToBlock) {
  open(4);
  std::vector<std::size_t> reads;
  for (std::size_t block = 0; block < 12; ++block) reads.push_back(reads_for_block(block));

  // With block 1, one is read ahead, then two, four, and eight, which is the most for four requests. Some of them are there already.
  EXPECT_THAT(reads, ElementsAre(1, 2, 2, 3, 5, 1, 1, 1, 1, 1, 1, 1));
}

TEST_F(ReadAheadTest, NoBlockIsReadTwice) {
  open(4);
  for (std::size_t block = 0; block < kBlocks; ++block) read_block(block);
  EXPECT_EQ(reads_, static_cast<int>(kBlocks));
}

TEST_F(ReadAheadTest, WhoReadsHereAndThereGetsWhatHeAsksFor) {
  open(4);
  for (const std::size_t block : {7u, 3u, 20u, 18u, 0u, 39u}) EXPECT_EQ(reads_for_block(block), 1u);
}

TEST_F(ReadAheadTest, AFileThatIsBegunWhereAnotherOneEndedIsTakenForItsContinuation) {
  open(4);
  for (std::size_t block = 20; block < kBlocks; ++block) read_block(block);
  EXPECT_EQ(reads_for_block(0, 1), 1u + 8u);
}

TEST_F(ReadAheadTest, SeveralFilesAreReadAtOnce) {
  open(4);
  for (std::size_t block = 0; block < 10; ++block)
    for (const std::size_t file : {0U, 1U}) read_block(block, file);
  EXPECT_EQ(reads_, 2 * (10 + 8));
}

TEST_F(ReadAheadTest, WithOneRequestAtATimeNothingIsReadAhead) {
  open(1);
  for (std::size_t block = 0; block < kBlocks; ++block) EXPECT_EQ(reads_for_block(block), 1u);
}

TEST_F(ReadAheadTest, ALittleCacheHoldsWhatIsReadAheadUntilItIsRead) {
  open(4, 8 * kBlockBytes);
  for (std::size_t block = 0; block < kBlocks; ++block) read_block(block);
  EXPECT_EQ(reads_, static_cast<int>(kBlocks));
}

TEST_F(ReadAheadTest, WhatCannotBeReadIsAnErrorOfWhoReadsIt) {
  open(4);
  std::atomic<bool> all_fail = false;
  bucket_.set_fault([&all_fail, reader = std::this_thread::get_id()](const MemoryBucket::Call& call) {
    const bool is_ahead = std::this_thread::get_id() != reader;
    const bool fails = call.operation == Operation::kRead && (is_ahead || all_fail);
    return fails ? MemoryBucket::Fault::kFails : MemoryBucket::Fault::kNone;
  });
  EXPECT_LT(blocks_->read_soon(files_.at(0), 100), 100u);
  blocks_->finish_reading_ahead();
  ByteBuffer part(kBlockBytes);
  for (const std::uint64_t block : {0U, 1U}) ASSERT_TRUE(files_.at(0).read_up_to(*blocks_, block * kBlockBytes, part));
  blocks_->finish_reading_ahead();
  all_fail = true;
  EXPECT_EQ(files_.at(0).read_up_to(*blocks_, std::uint64_t{2} * kBlockBytes, part).error().code(), ErrorCode::kIo);
}

TEST_F(ReadAheadTest, WhatIsWantedSoonIsAskedForAtOnceAsLongAsItIsLittle) {
  open(4);
  EXPECT_EQ(blocks_->read_soon(files_.at(0), 100), 100 - 2 * kBlockBytes);
  blocks_->finish_reading_ahead();
  EXPECT_EQ(blocks_->read_soon(files_.at(0), 100), 100u) << "they are there";
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(reads_for_block(0), 0u);
  EXPECT_EQ(reads_for_block(kBlocks - 1), 0u);

  EXPECT_EQ(blocks_->read_soon(files_.at(1), kBlockBytes + 1), 1u);
  blocks_->finish_reading_ahead();
  EXPECT_EQ(reads_, 3);
}

}  // namespace
}  // namespace dedupfs
