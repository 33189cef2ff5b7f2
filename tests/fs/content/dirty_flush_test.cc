// How dirty extents come into the recipe.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <thread>

#include "content_of_file.h"
#include "fs/content/dirty_map.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

struct FileContentFlushTest : FileContentTest {
  std::uint64_t container_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir_.path() / "volume/containers"))
      bytes += file.file_size();
    return bytes;
  }
};

TEST_F(FileContentFlushTest, RecipeDoesNotDependOnHowTheContentWasWritten) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const ByteBuffer bytes = typical_bytes(2000000, random);
    auto at_once = make(100 + seed);
    auto in_portions = make(200 + seed);

    ASSERT_TRUE(write(*at_once, 0, bytes));
    ASSERT_TRUE(at_once->flush());
    for (std::size_t offset = 0; offset < bytes.size();) {
      const std::size_t length =
          std::min<std::size_t>(bytes.size() - offset, 1 + random() % (random() % 3 == 0 ? 700000 : 20000));
      ASSERT_TRUE(write(*in_portions, offset, ByteSpan(bytes).subspan(offset, length)));
      offset += length;
      if (random() % 4 == 0) {
        ASSERT_TRUE(in_portions->flush());
      }
    }
    ASSERT_TRUE(in_portions->flush());

    EXPECT_EQ(recipe_of(200 + seed), recipe_of(100 + seed));
    EXPECT_EQ(in_portions->data_bytes(), at_once->data_bytes());
  }
}

TEST_F(FileContentFlushTest, AnOverwriteKeepsTheChunksFarFromIt) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(1000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  const auto before = recipe_of(kInode);

  ASSERT_TRUE(write(*content_, 500000, ByteSpan(bytes).first(10)));
  ASSERT_TRUE(content_->flush());

  const auto after = recipe_of(kInode);
  EXPECT_GE(entries_in_both(before, after) + 8, after.size());
  EXPECT_NE(before, after);
}

// Nothing but its place says what these chunks were made from: hardly any of their features is an old one.
TEST_F(FileContentFlushTest, AnOverwrittenChunkIsStoredAsADeltaOfTheOldOne) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = noise_bytes(400'000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  commit();
  const std::uint64_t before = container_bytes();

  std::uint64_t begin = 0;
  for (const std::uint64_t end : boundaries_of(kInode)) {
    for (std::uint64_t at = begin; at + 100 < end; at += 50) std::ranges::copy(noise_bytes(8, random), &bytes[at]);
    ASSERT_TRUE(write(*content_, begin, ByteSpan(bytes).subspan(begin, end - begin)));
    ASSERT_TRUE(content_->flush());
    begin = end;
  }
  commit();

  EXPECT_LT(container_bytes() - before, bytes.size() / 2);
  reopen();
  EXPECT_EQ(read_all(), bytes);
}

// As a database or a virtual machine writes: against a plain vector, with deltas of deltas and many segments of the recipe.
TEST_F(FileContentFlushTest, OverwritesAtRandomPlacesAreReadBack) {
  const char* const given = std::getenv("DEDUPFS_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE("DEDUPFS_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  ByteBuffer model = noise_bytes(4'000'000, random);
  const ByteBuffer typical = typical_bytes(4'000'000, random);
  std::ranges::copy(typical, std::back_inserter(model));
  ASSERT_TRUE(write(*content_, 0, model));
  commit();
  const std::size_t busy_from = random() % (model.size() - 100'000);

  for (int round = 0; round < (kSanitized ? 15 : 60); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    for (int i = 0; i < 30; ++i) {
      std::size_t length = std::array<std::size_t, 4>{4096, 4096, 512, 65536}[random() % 4];
      std::size_t offset = random() % (model.size() / length) * length;
      if (random() % 4 == 0) offset = random() % (model.size() - length);  // on no boundary
      if (random() % 4 == 0) {                                             // the same chunks again and again
        length = 100;
        offset = busy_from + random() % 50'000;
      }
      const ByteBuffer bytes = random() % 3 == 0 ? typical_bytes(length, random) : noise_bytes(length, random);
      ASSERT_TRUE(write(*content_, offset, bytes));
      std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    switch (random() % 6) {
      case 0: reopen(); break;
      case 1:
      case 2: commit(); break;
      case 3: break;  // what follows lies over it
      default: ASSERT_TRUE(content_->flush());
    }
    const std::size_t from = random() % model.size();
    const std::size_t count = std::min<std::size_t>(random() % 300'000, model.size() - from);
    ASSERT_EQ(read(*content_, from, count), ByteBuffer(model.begin() + static_cast<std::ptrdiff_t>(from),
                                                       model.begin() + static_cast<std::ptrdiff_t>(from + count)));
  }
  reopen();
  EXPECT_EQ(read_all(), model);
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

// The boundary in front of the first dirty byte once was taken for the one behind the last: the flush never ended.
TEST_F(FileContentFlushTest, AnOverwriteMayStartExactlyAtABoundary) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = noise_bytes(300000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  const std::uint64_t boundary = recipe_of(kInode).at(0).length;

  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(boundary), 100, 7);
  ASSERT_TRUE(write(*content_, boundary, ByteSpan(bytes).subspan(boundary, 100)));
  ASSERT_TRUE(content_->flush());

  EXPECT_FALSE(content_->dirty());
  EXPECT_EQ(read_all(), bytes);
}

TEST_F(FileContentFlushTest, TinyFilesStandInTheRecipeItself) {
  ASSERT_TRUE(write(*content_, 0, bytes_of("tiny")));
  ASSERT_TRUE(content_->flush());

  EXPECT_TRUE(recipe_of(kInode).at(0).kind == RecipeEntry::Kind::kInline);
  EXPECT_EQ(text_of(read_all()), "tiny");

  ASSERT_TRUE(write(*content_, 600, bytes_of("more")));
  ASSERT_TRUE(content_->flush());

  EXPECT_TRUE(recipe_of(kInode).at(0).kind == RecipeEntry::Kind::kChunk);
  EXPECT_EQ(text_of(ByteSpan(read_all()).first(4)), "tiny");
}

// In content that repeats itself new boundaries need never fall on old ones: all behind a hole was cut anew, for each hole.
TEST_F(FileContentFlushTest, AHoleInRepetitiveContentKeepsTheChunksFarFromIt) {
  ASSERT_TRUE(write(*content_, 0, ByteBuffer(16 << 20, 'x')));
  ASSERT_TRUE(content_->flush());
  const auto before = boundaries_of(kInode);

  ASSERT_TRUE(content_->punch(100000, 4096));
  ASSERT_TRUE(content_->flush());

  const auto after = boundaries_of(kInode);
  std::vector<std::uint64_t> common;
  std::ranges::set_intersection(before, after, std::back_inserter(common));
  EXPECT_GT(common.size() + 30, before.size());
  EXPECT_EQ(content_->data_bytes(), (16U << 20) - 4096);
  ByteBuffer expected(16 << 20, 'x');
  std::fill_n(expected.begin() + 100000, 4096, 0);
  EXPECT_EQ(read_all(), expected);
}

TEST_F(FileContentFlushTest, ShortHolesWaitForTheFlushAndGiveBackTheirSpaceAtOnce) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = noise_bytes(1000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  const auto before = recipe_of(kInode);

  for (std::size_t offset = 4096; offset < 900000; offset += 8192) {
    ASSERT_TRUE(content_->punch(offset, 4096));
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), 4096, 0);
  }
  const std::uint64_t data_bytes = content_->data_bytes();

  EXPECT_EQ(recipe_of(kInode), before);
  EXPECT_EQ(read_all(), bytes);
  EXPECT_EQ(*content_->find_hole(0), 4096U);
  ASSERT_TRUE(content_->flush());
  EXPECT_EQ(read_all(), bytes);
  EXPECT_EQ(content_->data_bytes(), data_bytes);
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

// Single bytes far from each other once took a block of 1 MiB each on their way, and a byte of the budget.
TEST_F(FileContentFlushTest, ScatteredBytesTakeNoMoreThanTheirShare) {
  constexpr std::uint64_t kDistance = 5000;
  constexpr std::uint64_t kBytes = 20000;
  std::atomic<std::uint64_t> highest = 0;
  std::atomic<bool> finished = false;
  std::thread watcher([&] {
    while (!finished) highest = std::max(highest.load(), budget_.used_bytes());
  });
  for (std::uint64_t i = 0; i < kBytes; ++i) ASSERT_TRUE(write(*content_, i * kDistance, bytes_of("x")));
  const std::uint64_t waiting = budget_.used_bytes();
  ASSERT_TRUE(content_->flush());
  finished = true;
  watcher.join();

  EXPECT_GE(waiting, kBytes * DirtyMap::kExtentNodeBytes);
  EXPECT_LE(highest, waiting + (16U << 20));
  EXPECT_EQ(budget_.used_bytes(), 0U);
  const auto entries = recipe_of(kInode);
  EXPECT_EQ(entries.size(), 2 * kBytes - 1);
  EXPECT_EQ(content_->data_bytes(), kBytes);
  EXPECT_EQ(read(*content_, 777 * kDistance - 1, 3), (ByteBuffer{0, 'x', 0}));
}

// What is cut anew at a time is bounded: such a extent ends within the hole.
TEST_F(FileContentFlushTest, ALongStretchMayEndInsideOfAHole) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(4096, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(write(*content_, kFar, bytes));
  ASSERT_TRUE(content_->flush());

  const std::uint64_t start = kFar / 2;
  constexpr std::uint64_t kWrites = 2000;
  for (std::uint64_t i = 0; i < kWrites; ++i) ASSERT_TRUE(write(*content_, start + i * 10000, bytes));
  for (std::uint64_t i = 0; i < 8 << 20; i += 4096) ASSERT_TRUE(write(*content_, start + (1 << 30) + i, bytes));
  ASSERT_TRUE(content_->flush());

  EXPECT_FALSE(content_->dirty());
  EXPECT_EQ(content_->size(), kFar + 4096);
  EXPECT_EQ(content_->data_bytes(), (2 + kWrites) * 4096 + (8 << 20));
  for (const std::uint64_t offset :
       {std::uint64_t{0}, start, start + 1999 * 10000, start + (1 << 30) + (8 << 20) - 4096, kFar})
    EXPECT_EQ(read(*content_, offset, 4096), bytes) << offset;
  EXPECT_EQ(read(*content_, start + 4096, 5904), ByteBuffer(5904, 0));
}

TEST_F(FileContentFlushTest, OfAFileThatIsCleanChangesNothing) {
  std::mt19937_64 random(1);
  ASSERT_TRUE(write(*content_, 0, noise_bytes(100000, random)));
  ASSERT_TRUE(content_->flush());
  const auto before = recipe_of(kInode);

  ASSERT_TRUE(content_->flush());

  EXPECT_EQ(recipe_of(kInode), before);
}

TEST_F(FileContentFlushTest, ATinyFileOfZerosHasNoRecipe) {
  ASSERT_TRUE(write(*content_, 0, ByteBuffer(100, 0)));
  ASSERT_TRUE(content_->flush());

  EXPECT_TRUE(recipe_of(kInode).empty());
  EXPECT_EQ(content_->data_bytes(), 0U);
  EXPECT_EQ(read_all(), ByteBuffer(100, 0));
}

TEST_F(FileContentFlushTest, AFileThatIsCutOffBelowTheInlineSizeStandsInTheRecipeAgain) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = noise_bytes(100000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  ASSERT_TRUE(content_->truncate(100));
  ASSERT_TRUE(write(*content_, 0, bytes_of("x")));
  ASSERT_TRUE(content_->flush());

  const auto entries = recipe_of(kInode);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_TRUE(entries[0].kind == RecipeEntry::Kind::kInline);
  EXPECT_EQ(entries[0].length, 100U);
}

// The bytes stay, and the next flush goes on.
TEST_F(FileContentFlushTest, AFailureLosesNothingAndIsMadeGoodLater) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = noise_bytes(1000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  for (std::size_t offset = 1000; offset < 900000; offset += 30000) {
    const ByteBuffer over = noise_bytes(20000, random);
    ASSERT_TRUE(write(*content_, offset, over));
    std::ranges::copy(over, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  // Shared with the fault, which outlives this function.
  const auto full = std::make_shared<std::atomic<bool>>(true);
  backing_->fault = [full](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (!*full || operation != "write" || path.extension() != ".container") return std::nullopt;
    return Error{ErrorCode::kNoSpace, "the disk is full"};
  };

  // What is written beside others fails after it was taken. A commit waits for it, so the store knows from here on.
  const auto other = make(kInode + 1);
  ASSERT_TRUE(write(*other, 0, noise_bytes(100000, random)));
  static_cast<void>(other->flush());
  volume_->freeze();
  ASSERT_FALSE(volume_->commit());

  const auto failed = content_->flush();

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(content_->dirty());
  EXPECT_EQ(read_all(), bytes);
  *full = false;
  ASSERT_TRUE(content_->flush());
  ASSERT_TRUE(other->flush());
  EXPECT_FALSE(content_->dirty());
  EXPECT_EQ(read_all(), bytes);
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

}  // namespace
}  // namespace dedupfs
