#include "fs/content/file_content.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <random>
#include <thread>

#include "fs/content/dirty_map.h"
#include "fs/content/recipe.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

ByteBuffer random_bytes(std::size_t size, std::mt19937_64& random) {
  ByteBuffer bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Compressible, with repetitions and zero runs, as files are.
ByteBuffer typical_bytes(std::size_t size, std::mt19937_64& random) {
  ByteBuffer bytes;
  while (bytes.size() < size) {
    const std::size_t part = 1 + random() % 30000;
    switch (random() % 4) {
      case 0: bytes.insert(bytes.end(), part, 0); break;
      case 1: bytes.insert(bytes.end(), part, static_cast<std::uint8_t>(random())); break;
      default: {
        std::mt19937_64 same(random() % 8);
        const ByteBuffer repeated = random_bytes(part, same);
        bytes.insert(bytes.end(), repeated.begin(), repeated.end());
      }
    }
  }
  bytes.resize(size);
  return bytes;
}

class FileContentTest : public ::testing::Test {
 protected:
  static constexpr InodeNumber kInode = 7;

  FileContentTest() : budget_(64 << 20, [] {}) {
    VolumeSettings settings;
    settings.chunker = "gear:avg=4k";
    EXPECT_TRUE(Volume::create(dir_.path() / "volume", settings));
    open();
    content_ = make(kInode);
  }

  void open() {
    VolumeOptions options;
    options.threads = 2;
    volume_ = std::move(*Volume::open(dir_.path() / "volume", options));
  }

  std::unique_ptr<FileContent> make(InodeNumber inode, std::uint64_t size = 0, std::uint64_t data_bytes = 0) {
    return std::make_unique<FileContent>(*volume_, budget_, inode, size, data_bytes);
  }

  Result<void> write(FileContent& content, std::uint64_t offset, ByteSpan bytes) {
    EXPECT_TRUE(budget_.acquire(bytes.size(), [] { return false; }));
    return content.write(offset, bytes, DirtyBudget::Share::acquired(budget_, bytes.size()));
  }

  void commit() {
    ASSERT_TRUE(content_->flush());
    volume_->freeze();
    ASSERT_TRUE(volume_->commit());
  }

  void reopen() {
    commit();
    const std::uint64_t size = content_->size();
    const std::uint64_t data_bytes = content_->data_bytes();
    content_.reset();
    volume_.reset();
    open();
    content_ = make(kInode, size, data_bytes);
  }

  static ByteBuffer read(FileContent& content, std::uint64_t offset, std::size_t length) {
    const auto pieces = content.read(offset, length);
    EXPECT_TRUE(pieces) << pieces.error().message();
    ByteBuffer bytes;
    if (!pieces) return bytes;
    for (const PinnedBytes& piece : *pieces) bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
    return bytes;
  }
  ByteBuffer read_all() { return read(*content_, 0, content_->size()); }

  static std::size_t entries_in_both(const std::vector<RecipeEntry>& a, const std::vector<RecipeEntry>& b) {
    const auto is_in_a = [&a](const RecipeEntry& entry) { return std::ranges::find(a, entry) != a.end(); };
    return static_cast<std::size_t>(std::ranges::count_if(b, is_in_a));
  }

  std::vector<RecipeEntry> recipe_of(InodeNumber inode) {
    std::vector<RecipeEntry> entries;
    Recipe recipe(volume_->metadata(), inode);
    const auto placed = recipe.list(0, kMaxFileBytes);
    EXPECT_TRUE(placed);
    for (const PlacedEntry& entry : *placed) entries.push_back(entry.entry);
    return entries;
  }

  std::vector<std::uint64_t> boundaries_of(InodeNumber inode) {
    std::vector<std::uint64_t> boundaries;
    std::uint64_t end = 0;
    for (const RecipeEntry& entry : recipe_of(inode)) boundaries.push_back(end += entry.length);
    return boundaries;
  }

  TempDir dir_;
  DirtyBudget budget_;
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<FileContent> content_;
};

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

TEST_F(FileContentTest, RecipeDoesNotDependOnHowTheContentWasWritten) {
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

TEST_F(FileContentTest, AnOverwriteKeepsTheChunksFarFromIt) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = random_bytes(1000000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  const auto before = recipe_of(kInode);

  ASSERT_TRUE(write(*content_, 500000, ByteSpan(bytes).first(10)));
  ASSERT_TRUE(content_->flush());

  const auto after = recipe_of(kInode);
  EXPECT_GE(entries_in_both(before, after) + 8, after.size());
  EXPECT_NE(before, after);
}

// The boundary in front of the first dirty byte once was taken for the one behind the last: the flush never ended.
TEST_F(FileContentTest, AnOverwriteMayStartExactlyAtABoundary) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = random_bytes(300000, random);
  ASSERT_TRUE(write(*content_, 0, bytes));
  ASSERT_TRUE(content_->flush());
  const std::uint64_t boundary = recipe_of(kInode).at(0).length;

  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(boundary), 100, 7);
  ASSERT_TRUE(write(*content_, boundary, ByteSpan(bytes).subspan(boundary, 100)));
  ASSERT_TRUE(content_->flush());

  EXPECT_FALSE(content_->dirty());
  EXPECT_EQ(read_all(), bytes);
}

TEST_F(FileContentTest, TinyFilesStandInTheRecipeItself) {
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
TEST_F(FileContentTest, AHoleInRepetitiveContentKeepsTheChunksFarFromIt) {
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

TEST_F(FileContentTest, ShortHolesWaitForTheFlushAndGiveBackTheirSpaceAtOnce) {
  std::mt19937_64 random(1);
  ByteBuffer bytes = random_bytes(1000000, random);
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
TEST_F(FileContentTest, ScatteredBytesTakeNoMoreThanTheirShare) {
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

TEST_F(FileContentTest, AReadOfManySmallPiecesIsOneBuffer) {
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(write(*content_, 3 * i, bytes_of("x")));

  const auto pieces = content_->read(0, 3000);

  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->size(), 1U);
  EXPECT_EQ(text_of(read(*content_, 0, 5)), std::string_view("x\0\0x\0", 5));
}

// What is cut anew at a time is bounded: such a extent ends within the hole.
TEST_F(FileContentTest, ALongStretchMayEndInsideOfAHole) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  std::mt19937_64 random(1);
  const ByteBuffer bytes = random_bytes(4096, random);
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

TEST_F(FileContentTest, HolesTakeNoSpaceAndAreFound) {
  std::mt19937_64 random(1);
  const ByteBuffer bytes = random_bytes(100000, random);
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
TEST_F(FileContentTest, DataAndHolesBeginAndEndWithBlocks) {
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

TEST_F(FileContentTest, AHoleReachesToTheEndOfAFileThatEndsWithinABlock) {
  ASSERT_TRUE(write(*content_, 0, bytes_of("a")));
  ASSERT_TRUE(content_->truncate(2 * 4096 + 10));

  EXPECT_EQ(*content_->find_hole(0), 4096U);
  EXPECT_EQ(*content_->find_hole(2 * 4096 + 3), 2 * 4096U + 3);
  EXPECT_EQ(content_->find_data(4096).error().code(), ErrorCode::kNoData);
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
  const ByteBuffer bytes = random_bytes(1000000, random);
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

TEST_F(FileContentTest, ReadersBesideAWriterSeeWhatWasWrittenOrNothing) {
  constexpr std::size_t kPortion = 150000;
  constexpr std::size_t kPortions = 60;
  std::mt19937_64 random(1);
  const ByteBuffer bytes = random_bytes(kPortion * kPortions, random);
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

}  // namespace
}  // namespace dedupfs
