// What the content of a file is, in whatever state its parts are.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "content_of_file.h"

namespace dedupfs {
namespace {

struct FileContentReadTest : FileContentTest {};

TEST_F(FileContentReadTest, AReadOfManySmallPiecesIsOneBuffer) {
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(write(*content_, 3 * i, bytes_of("x")));

  const auto pieces = content_->read(0, 3000);

  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->size(), 1U);
  EXPECT_EQ(text_of(read(*content_, 0, 5)), std::string_view("x\0\0x\0", 5));
}

TEST_F(FileContentReadTest, HolesTakeNoSpaceAndAreFound) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(100000, random);
  const std::uint64_t far = kMaxFileBytes - 200000;

  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(write(*content_, far, bytes));
  ASSERT_TRUE(content_->flush());

  EXPECT_EQ(content_->data_bytes(), 200000U);
  EXPECT_EQ(*content_->find_hole(0), 102400U);
  EXPECT_EQ(*content_->find_data(102400), far - far % 4096);
  EXPECT_EQ(*content_->find_hole(far), far + 100000);
  EXPECT_EQ(content_->find_data(far + 100000).error().code(), ErrorCode::kNoData);
  EXPECT_EQ(read(*content_, far, 100000), bytes);
  EXPECT_EQ(read(*content_, far - 5000, 5000), ByteBuffer(5000, 0));
}

// A block of 4096 bytes that has any data is data, whatever it is made of and whether it is stored yet.
TEST_F(FileContentReadTest, DataAndHolesBeginAndEndWithBlocks) {
  const std::uint64_t size = 40 * 4096 + 100;
  const auto expect_blocks = [&](const std::string& when) {
    EXPECT_EQ(*content_->find_hole(0), 0U) << when;
    EXPECT_EQ(*content_->find_data(0), 2 * 4096U) << when;
    EXPECT_EQ(*content_->find_data(3 * 4096 - 1), 3 * 4096U - 1) << when;  // behind the byte, in its block
    EXPECT_EQ(*content_->find_hole(2 * 4096), 3 * 4096U) << when;
    EXPECT_EQ(*content_->find_hole(3 * 4096 + 1), 3 * 4096U + 1) << when;
    // The data end in one block and begin again in the next: there is no whole block of hole between them.
    EXPECT_EQ(*content_->find_data(3 * 4096), 20 * 4096U) << when;
    EXPECT_EQ(*content_->find_hole(20 * 4096), 22 * 4096U) << when;
    EXPECT_EQ(*content_->find_data(22 * 4096), 40 * 4096U) << when;
    EXPECT_EQ(*content_->find_hole(40 * 4096 + 1), size) << when;
    EXPECT_EQ(content_->find_data(size).error().code(), ErrorCode::kNoData) << when;
    EXPECT_EQ(content_->find_hole(size).error().code(), ErrorCode::kNoData) << when;
  };

  ASSERT_TRUE(content_->truncate(size));
  ASSERT_TRUE(write(*content_, 2 * 4096 + 5, bytes_of("a")));
  ASSERT_TRUE(write(*content_, 20 * 4096 + 3, bytes_of("b")));
  ASSERT_TRUE(write(*content_, 22 * 4096 - 3, bytes_of("c")));
  ASSERT_TRUE(write(*content_, 40 * 4096 + 50, bytes_of("d")));

  expect_blocks("before the flush");
  ASSERT_TRUE(content_->flush());
  expect_blocks("after the flush");
}

TEST_F(FileContentReadTest, AHoleReachesToTheEndOfAFileThatEndsWithinABlock) {
  ASSERT_TRUE(write(*content_, 0, bytes_of("a")));
  ASSERT_TRUE(content_->truncate(2 * 4096 + 10));

  EXPECT_EQ(*content_->find_hole(0), 4096U);
  EXPECT_EQ(*content_->find_hole(2 * 4096 + 3), 2 * 4096U + 3);
  EXPECT_EQ(content_->find_data(4096).error().code(), ErrorCode::kNoData);
}

TEST_F(FileContentReadTest, ReadersBesideAWriterSeeWhatWasWrittenOrNothing) {
  constexpr std::size_t kPortion = 150000;
  constexpr std::size_t kPortions = 60;
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(kPortion * kPortions, random);
  std::atomic<bool> finished = false;
  std::vector<std::thread> readers;
  std::atomic<int> wrong = 0;

  for (unsigned reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&, reader] {
      std::mt19937_64 own(reader);
      while (!finished) {
        const std::size_t size = content_->size();
        const std::size_t from = own() % (size + 1);
        const std::size_t count = std::min<std::size_t>(own() % 300000, size - from);
        const ByteBuffer got = read(*content_, from, count);
        if (got.size() != count ||
            !std::equal(got.begin(), got.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from)))
          ++wrong;
      }
    });
  }
  for (std::size_t portion = 0; portion < kPortions; ++portion) {
    ASSERT_TRUE(write(*content_, portion * kPortion, ByteSpan(bytes).subspan(portion * kPortion, kPortion)));
    if (portion % 20 == 19) {
      ASSERT_TRUE(content_->flush());
    }
  }
  finished = true;
  for (std::thread& reader : readers) reader.join();

  EXPECT_EQ(wrong, 0);
}

TEST_F(FileContentReadTest, ReadsEndWithTheFile) {
  ASSERT_TRUE(write(*content_, 0, bytes_of("content")));

  EXPECT_EQ(text_of(read(*content_, 3, 100)), "tent");
  EXPECT_TRUE(read(*content_, 7, 10).empty());
  EXPECT_TRUE(read(*content_, kMaxFileBytes - 1, 10).empty());
  EXPECT_TRUE(read(*content_, 0, 0).empty());
}

// Bytes that wait lie over those of the stream, and these over those of the recipe.
TEST_F(FileContentReadTest, TheNewestBytesAreSeen) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = noise_bytes(1000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  const ByteBuffer appended = noise_bytes(600000, random);
  ASSERT_TRUE(write(*content_, bytes.size(), appended));
  bytes.insert(bytes.end(), appended.begin(), appended.end());
  for (const std::size_t offset : {500000u, 999990u, 1300000u}) {
    const ByteBuffer over = noise_bytes(20, random);
    ASSERT_TRUE(write(*content_, offset, over));
    std::ranges::copy(over, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  EXPECT_EQ(read_all(), bytes);
  for (const std::size_t offset : {499995u, 999985u, 1299995u})
    EXPECT_EQ(read(*content_, offset, 30), ByteBuffer(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                                                      bytes.begin() + static_cast<std::ptrdiff_t>(offset + 30)));
}

TEST_F(FileContentReadTest, AChunkThatCannotBeReadIsNamedWithTheFileAndThePlace) {
  Recipe recipe(volume_->metadata(), kInode);
  ASSERT_TRUE(recipe.replace(
      0, 0, {{RecipeEntry::Kind::kHole, 5000, {}, {}}, {RecipeEntry::Kind::kChunk, 10, kLostChunk, {}}}));
  content_ = make(kInode, 5010, 10);

  EXPECT_EQ(read(*content_, 0, 5000), ByteBuffer(5000, 0)) << "the rest can be read";
  const auto lost = content_->read(4990, 20);

  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message().find("inode 7 at offset 5000"), std::string::npos) << lost.error().message();
}

// The recipe is damaged: no byte of another place may stand for it.
TEST_F(FileContentReadTest, AChunkThatIsShorterThanTheRecipeSaysIsDamage) {
  std::mt19937_64 random(1);
  ASSERT_TRUE(write(*content_, 0, noise_bytes(2000, random)));
  ASSERT_TRUE(content_->flush());
  const RecipeEntry stored = recipe_of(kInode).at(0);
  Recipe recipe(volume_->metadata(), kInode + 1);
  ASSERT_TRUE(recipe.replace(0, 0, {{RecipeEntry::Kind::kChunk, stored.length + 1, stored.chunk, {}}}));
  auto content = make(kInode + 1, stored.length + 1, stored.length + 1);

  const auto wrong = content->read(0, stored.length + 1);

  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(content->read(0, stored.length));
}

}  // namespace
}  // namespace dedupfs
