// What is appended goes to the chunk store while the writer goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "content_of_file.h"

namespace dedupfs {
namespace {

struct FileContentStreamTest : FileContentTest {
  // Portions, as programs write.
  void append(ByteSpan bytes) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), 100000)))
      ASSERT_TRUE(write(*content_, content_->size(), bytes.first(std::min<std::size_t>(bytes.size(), 100000))));
  }
};

TEST_F(FileContentStreamTest, LongContentIsStoredBeforeAnybodyFlushes) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(6000000, random);

  append(bytes);

  while (content_->stored_data_bytes() == 0) std::this_thread::yield();
  EXPECT_EQ(read_all(), bytes);
  EXPECT_TRUE(content_->dirty());
  ASSERT_TRUE(content_->flush());
  EXPECT_EQ(content_->stored_data_bytes(), bytes.size());
}

TEST_F(FileContentStreamTest, LittleWaitsForMore) {
  std::mt19937_64 random(1);

  append(noise_bytes(200000, random));

  EXPECT_EQ(content_->stored_data_bytes(), 0U);
  EXPECT_TRUE(recipe_of(kInode).empty());
  ASSERT_TRUE(content_->flush());
}

// A log file: boundaries are those of the content as a whole.
TEST_F(FileContentStreamTest, AppendingToAStoredFileCutsItsLastChunkAnew) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(2000000, random);
  append(ByteSpan(bytes).first(1000000));
  ASSERT_TRUE(content_->flush());
  append(ByteSpan(bytes).subspan(1000000));
  ASSERT_TRUE(content_->flush());
  const auto in_two = recipe_of(kInode);
  content_ = make(kInode + 1);

  append(bytes);
  ASSERT_TRUE(content_->flush());

  EXPECT_EQ(recipe_of(kInode + 1), in_two);
}

TEST_F(FileContentStreamTest, AGapIsAHole) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(600000, random);
  append(bytes);
  ASSERT_TRUE(write(*content_, 10000000, bytes));
  EXPECT_EQ(read(*content_, 9999990, 20), [&] {
    ByteBuffer expected(10, 0);
    expected.insert(expected.end(), bytes.begin(), bytes.begin() + 10);
    return expected;
  }());

  ASSERT_TRUE(content_->flush());

  EXPECT_EQ(content_->data_bytes(), 2 * bytes.size());
}

TEST_F(FileContentStreamTest, ATruncationEndsIt) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = noise_bytes(3000000, random);
  append(bytes);

  ASSERT_TRUE(content_->truncate(1234567));

  bytes.resize(1234567);
  EXPECT_EQ(read_all(), bytes);
  append(noise_bytes(500000, random));
  ASSERT_TRUE(content_->flush());
  EXPECT_EQ(content_->size(), 1734567U);
  EXPECT_EQ(content_->data_bytes(), 1734567U);
}

// close(2) and fsync(2) report it once. What could not be stored is tried again by the next flush.
TEST_F(FileContentStreamTest, AFailureShowsInTheNextFlushAndNothingIsLost) {
  // Shared with the fault, which outlives this function.
  const auto full = std::make_shared<std::atomic<bool>>(true);
  const auto has_failed = std::make_shared<std::atomic<bool>>(false);
  backing_->fault = [full, has_failed](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (!*full || operation != "write" || path.extension() != ".container") return std::nullopt;
    *has_failed = true;
    return Error{ErrorCode::kNoSpace, "the disk is full"};
  };
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(5000000, random);

  append(bytes);
  EXPECT_EQ(read_all(), bytes);
  while (!*has_failed || volume_->chunks().waiting_bytes() != 0) std::this_thread::yield();
  const auto failed = content_->flush();

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(read_all(), bytes);
  *full = false;
  EXPECT_TRUE(content_->flush());
  EXPECT_EQ(read_all(), bytes);
  EXPECT_EQ(content_->data_bytes(), bytes.size());
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

}  // namespace
}  // namespace dedupfs
