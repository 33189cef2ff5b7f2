#include "fs/content/file_content.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "content_of_file.h"

namespace dedupfs {
namespace {

TEST_F(FileContentTest, ReadsWhatWasWrittenAtOnceAfterFlushAndAfterReopening) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = typical_bytes(3000000, random);
  for (std::size_t offset = 0; offset < bytes.size(); offset += 100000)
    ASSERT_TRUE(write(*content_, offset,
                      ByteSpan(bytes).subspan(offset, std::min<std::size_t>(100000, bytes.size() - offset))));

  EXPECT_EQ(read_all(), bytes);
  ASSERT_TRUE(content_->flush());
  EXPECT_EQ(read_all(), bytes);
  EXPECT_FALSE(content_->dirty());
  reopen();
  EXPECT_EQ(read_all(), bytes);
}

TEST_F(FileContentTest, GivesBackItsShareOfTheBudget) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = typical_bytes(3000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(write(*content_, 3000000, bytes));
  ASSERT_TRUE(write(*content_, 1000, ByteSpan(bytes).first(5000)));
  ASSERT_TRUE(content_->truncate(4000000));
  ASSERT_TRUE(write(*content_, 2000, ByteSpan(bytes).first(5000)));

  ASSERT_TRUE(content_->flush());

  EXPECT_EQ(budget_.used_bytes(), 0U);

  ASSERT_TRUE(write(*content_, 0, bytes));
  content_.reset();

  EXPECT_EQ(budget_.used_bytes(), 0U);
  content_ = make(kInode);
}

TEST_F(FileContentTest, RefusesToGoBehindTheLargestOffset) {
  EXPECT_EQ(write(*content_, kMaxFileBytes - 2, bytes_of("abc")).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(content_->truncate(kMaxFileBytes + 1).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(budget_.used_bytes(), 0U);
  EXPECT_TRUE(write(*content_, kMaxFileBytes - 3, bytes_of("abc")));
  EXPECT_TRUE(content_->flush());
}

TEST_F(FileContentTest, ACloneRefersToTheSameChunks) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(1000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  auto copy = make(kInode + 1);

  for (std::uint64_t offset = 0; offset < bytes.size(); offset += 300000)
    ASSERT_TRUE(copy->clone_range(*content_, offset, offset, 300000));

  EXPECT_EQ(copy->size(), bytes.size());
  EXPECT_EQ(read(*copy, 0, bytes.size()), bytes);
  const auto original = recipe_of(kInode);
  EXPECT_GE(entries_in_both(original, recipe_of(kInode + 1)) + 10, original.size());
}

// Everything at once, against a plain vector.
TEST_F(FileContentTest, BehavesLikeAPlainArrayOfBytes) {
  const char* const given = std::getenv("DEDUPFS_TEST_SEED");
  const std::uint64_t first_seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  for (std::uint64_t seed = first_seed; seed < first_seed + 6; ++seed) {
    SCOPED_TRACE("DEDUPFS_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t limit = seed % 3 == 0 ? 3000 : 1500000;
    content_ = make(kInode + 1000 * seed);
    ByteBuffer model;
    std::size_t append_at = 0;

    for (int step = 0; step < 200; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const std::size_t offset = random() % (random() % 2 == 0 ? limit : model.size() + 1);
      const std::size_t length = 1 + random() % (random() % 3 == 0 ? limit / 4 : limit / 100);
      switch (random() % 12) {
        case 0:
        case 1:
        case 2: {  // go on where the last one ended
          const ByteBuffer bytes = typical_bytes(length, random);
          append_at = std::min(append_at, model.size());
          ASSERT_TRUE(write(*content_, append_at, bytes));
          if (model.size() < append_at + length) model.resize(append_at + length);
          std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(append_at));
          append_at += length;
          break;
        }
        case 3:
        case 4: {  // at the end
          const ByteBuffer bytes = typical_bytes(length, random);
          ASSERT_TRUE(write(*content_, model.size(), bytes));
          model.insert(model.end(), bytes.begin(), bytes.end());
          append_at = model.size();
          break;
        }
        case 5:
        case 6: {
          const ByteBuffer bytes = typical_bytes(length, random);
          ASSERT_TRUE(write(*content_, offset, bytes));
          if (model.size() < offset + length) model.resize(offset + length);
          std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset));
          break;
        }
        case 7:
          ASSERT_TRUE(content_->truncate(offset));
          model.resize(offset);
          break;
        case 8:
          ASSERT_TRUE(content_->punch(offset, length));
          for (std::size_t i = offset; i < std::min(model.size(), offset + length); ++i) model[i] = 0;
          break;
        case 9: {
          const std::size_t from = random() % (model.size() + 1);
          const std::size_t count = std::min(length, model.size() - from);
          if (offset < from + count && from < offset + count) break;  // overlapping is refused above
          ASSERT_TRUE(content_->clone_range(*content_, from, offset, count));
          if (count == 0) break;
          const ByteBuffer bytes(model.begin() + static_cast<std::ptrdiff_t>(from),
                                 model.begin() + static_cast<std::ptrdiff_t>(from + count));
          if (model.size() < offset + count) model.resize(offset + count);
          std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset));
          break;
        }
        case 10: ASSERT_TRUE(content_->flush()); break;
        default:
          if (random() % 4 == 0) commit();
      }
      if (model.size() > 2 * limit) {
        ASSERT_TRUE(content_->truncate(limit / 3));
        model.resize(limit / 3);
      }
      ASSERT_EQ(content_->size(), model.size());
      const std::size_t from = random() % (model.size() + 1);
      const std::size_t count = std::min<std::size_t>(random() % 200000, model.size() - from);
      ASSERT_EQ(read(*content_, from, count), ByteBuffer(model.begin() + static_cast<std::ptrdiff_t>(from),
                                                         model.begin() + static_cast<std::ptrdiff_t>(from + count)));
    }
    ASSERT_TRUE(content_->flush());
    ASSERT_EQ(read_all(), model);
    ASSERT_EQ(budget_.used_bytes(), 0U);
    std::uint64_t data_bytes = 0;
    for (const RecipeEntry& entry : recipe_of(kInode + 1000 * seed)) data_bytes += entry.is_data() ? entry.length : 0;
    ASSERT_EQ(content_->data_bytes(), data_bytes);
  }
}

}  // namespace
}  // namespace dedupfs
