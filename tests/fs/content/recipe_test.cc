#include "fs/content/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "index/database.h"
#include "recipe_entries.h"
#include "support/folder_at.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Entries = std::vector<RecipeEntry>;
using Kind = RecipeEntry::Kind;

constexpr InodeNumber kInode = 7;
constexpr std::size_t kShortest = 16;  // entries of a segment that is not the last

// `count` chunks of 10 bytes.
Entries chunks(std::size_t count, std::uint64_t first_id = 1) {
  Entries entries;
  for (std::size_t i = 0; i < count; ++i) entries.push_back(chunk(first_id + i));
  return entries;
}

std::uint64_t length_of(const Entries& entries) {
  std::uint64_t length = 0;
  for (const RecipeEntry& entry : entries) length += entry.length;
  return length;
}

std::uint64_t data_bytes_of(const Entries& entries) {
  std::uint64_t bytes = 0;
  for (const RecipeEntry& entry : entries) bytes += entry.is_data() ? entry.length : 0;
  return bytes;
}

Entries with_holes_merged(const Entries& entries) {
  Entries merged;
  for (const RecipeEntry& entry : entries) {
    if (!merged.empty() && !entry.is_data() && !merged.back().is_data()) {
      merged.back().length += entry.length;
    } else {
      merged.push_back(entry);
    }
  }
  return merged;
}

class RecipeTest : public ::testing::Test {
 protected:
  RecipeTest() {
    EXPECT_TRUE(Database::create(folder_at(dir_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(dir_.path() / "index"), {}));
    snapshots_ = SnapshotList::load(*database_).value();
    metadata_.emplace(*database_, *snapshots_);
    recipe_.emplace(*metadata_, kInode);
  }

  void commit() {
    metadata_->freeze();
    Database::Batch batch(*database_);
    ASSERT_TRUE(metadata_->append_to(batch));
    ASSERT_TRUE(database_->write(batch));
    metadata_->committed();
  }
  void reopen() {
    commit();
    recipe_.reset();
    metadata_.reset();
    database_.reset();
    database_ = std::move(*Database::open(folder_at(dir_.path() / "index"), {}));
    snapshots_ = SnapshotList::load(*database_).value();
    metadata_.emplace(*database_, *snapshots_);
    recipe_.emplace(*metadata_, kInode);
  }
  void forget_cached() { recipe_.emplace(*metadata_, kInode); }

  Entries all() {
    const auto placed = recipe_->list(0, kMaxFileBytes);
    EXPECT_TRUE(placed) << placed.error().message();
    Entries entries;
    std::uint64_t offset = 0;
    for (const PlacedEntry& entry : *placed) {
      EXPECT_EQ(entry.offset, offset);
      offset = entry.end();
      entries.push_back(entry.entry);
    }
    EXPECT_EQ(*recipe_->end(), offset);
    return entries;
  }
  std::vector<std::size_t> segment_sizes(InodeNumber inode = kInode) {
    std::vector<std::size_t> sizes;
    const auto segments =
        metadata_->list(Family::kRecipes, encode_recipe_key(inode, 0), encode_recipe_key(inode + 1, 0), SIZE_MAX);
    for (const auto& [key, value] : *segments) sizes.push_back(decode_segment(value)->size());
    return sizes;
  }
  void append(Entries entries) {
    const std::uint64_t end = *recipe_->end();
    ASSERT_TRUE(recipe_->replace(end, end, std::move(entries)));
  }
  void put_segment(std::uint64_t offset, const Entries& entries) {
    metadata_->put(Family::kRecipes, encode_recipe_key(kInode, offset), encode_segment(entries));
  }

  TempDir dir_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SnapshotList> snapshots_;
  std::optional<Metadata> metadata_;
  std::optional<Recipe> recipe_;
};

template <class T>
void expect_corruption(const Result<T>& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(result.error().message(), HasSubstr("inode 7"));
}

TEST_F(RecipeTest, NewRecipeIsEmpty) {
  EXPECT_EQ(*recipe_->end(), 0u);
  EXPECT_EQ(*recipe_->find(0), std::nullopt);
  EXPECT_THAT(*recipe_->list(0, kMaxFileBytes), IsEmpty());
}

TEST_F(RecipeTest, FindsTheEntryThatCoversAnOffset) {
  append({chunk(1, 100), hole(50), inlined("abc")});

  for (const std::uint64_t offset : {100u, 149u}) {
    const auto found = *recipe_->find(offset);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->offset, 100u);
    EXPECT_EQ(found->entry, hole(50));
  }
  EXPECT_EQ((*recipe_->find(152))->entry, inlined("abc"));
  EXPECT_FALSE(*recipe_->find(153));
}

TEST_F(RecipeTest, ListsWhatOverlapsUpToTheLimit) {
  append(chunks(3000));

  EXPECT_EQ(recipe_->list(10'235, 10'245)->size(), 2u);
  EXPECT_EQ(recipe_->list(10'240, 10'250)->size(), 1u);
  EXPECT_EQ(recipe_->list(10'240, 10'240)->size(), 0u);
  EXPECT_EQ(recipe_->list(5, kMaxFileBytes)->size(), 3000u);
  EXPECT_EQ(recipe_->list(5, kMaxFileBytes, 2000)->size(), 2000u);
}

TEST_F(RecipeTest, OtherInodesAreLeftAlone) {
  Recipe before(*metadata_, kInode - 1);
  Recipe behind(*metadata_, kInode + 1);
  ASSERT_TRUE(before.replace(0, 0, {chunk(1)}));
  ASSERT_TRUE(behind.replace(0, 0, {chunk(2)}));

  EXPECT_EQ(*recipe_->end(), 0u);
  append({chunk(3)});
  ASSERT_TRUE(recipe_->replace(0, kMaxFileBytes, {}));

  EXPECT_EQ(segment_sizes(kInode - 1).size(), 1u);
  EXPECT_EQ(segment_sizes(kInode + 1).size(), 1u);
  EXPECT_EQ(segment_sizes().size(), 0u);
}

TEST_F(RecipeTest, ReplacingBeyondTheEndFillsTheGapWithAHole) {
  append({chunk(1, 100)});

  EXPECT_EQ(*recipe_->replace(250, 250, {chunk(2, 7)}), 7);

  EXPECT_THAT(all(), ElementsAre(chunk(1, 100), hole(150), chunk(2, 7)));
}

TEST_F(RecipeTest, ReplaceReturnsTheChangeOfDataBytes) {
  EXPECT_EQ(*recipe_->replace(0, 0, {chunk(1, 100), hole(50), inlined("abc")}), 103);
  EXPECT_EQ(*recipe_->replace(0, 150, {hole(150)}), -100);
  EXPECT_EQ(*recipe_->replace(150, kMaxFileBytes, {}), -3);
}

TEST_F(RecipeTest, HolesMergeWithTheirNeighbours) {
  append({chunk(1, 10), hole(10), chunk(2, 10), hole(10), chunk(3, 10)});

  ASSERT_TRUE(recipe_->replace(20, 30, {hole(4), hole(6)}));

  EXPECT_THAT(all(), ElementsAre(chunk(1, 10), hole(30), chunk(3, 10)));
}

TEST_F(RecipeTest, HoleMayReachToTheLargestFile) {
  ASSERT_TRUE(recipe_->replace(kMaxFileBytes - 1, kMaxFileBytes - 1, {chunk(1, 1)}));
  forget_cached();

  EXPECT_EQ(*recipe_->end(), kMaxFileBytes);
  EXPECT_THAT(all(), ElementsAre(hole(kMaxFileBytes - 1), chunk(1, 1)));
}

TEST_F(RecipeTest, AppendingLeavesFullSegmentsAndWritesTheLastOnly) {
  for (int i = 0; i < 100; ++i) append(chunks(100));
  commit();

  append(chunks(10));

  EXPECT_LT(metadata_->open_bytes(), 10'000u);
  std::vector<std::size_t> sizes = segment_sizes();
  EXPECT_EQ(sizes.back(), 10'010 % kSegmentEntries);
  sizes.pop_back();
  EXPECT_THAT(sizes, testing::Each(kSegmentEntries));
}

TEST_F(RecipeTest, ReplacingInTheMiddleWritesTheSegmentsAffectedOnly) {
  append(chunks(100 * kSegmentEntries));
  commit();

  ASSERT_TRUE(recipe_->replace(500'000, 500'020, {chunk(1, 15), chunk(2, 5)}));

  EXPECT_LT(metadata_->open_bytes(), 12'000u);
}

// A segment of a thousand entries was written again for each overwrite of one.
TEST_F(RecipeTest, WhereEntriesWereReplacedTheNextChangeWritesFew) {
  append(chunks(100 * kSegmentEntries));
  ASSERT_TRUE(recipe_->replace(500'000, 500'010, {chunk(1)}));
  commit();

  ASSERT_TRUE(recipe_->replace(500'030, 500'040, {chunk(2)}));

  EXPECT_LT(metadata_->open_bytes(), 1'000u);
  std::vector<std::size_t> sizes = segment_sizes();
  EXPECT_EQ(std::ranges::count(sizes, kSegmentEntries), 99);
  EXPECT_LE(std::ranges::min(sizes), 64u);
}

TEST_F(RecipeTest, AnAppendBehindShortSegmentsMakesFullOnes) {
  append(chunks(500));
  ASSERT_TRUE(recipe_->replace(100, 110, {chunk(1)}));
  const std::size_t short_ones = segment_sizes().size();
  EXPECT_GT(short_ones, 5u);

  for (int i = 0; i < 30; ++i) append(chunks(100));

  const std::vector<std::size_t> sizes = segment_sizes();
  EXPECT_LE(sizes.size(), short_ones + 3);
  EXPECT_EQ(sizes[short_ones - 1], kSegmentEntries);
}

// More segments than are remembered.
TEST_F(RecipeTest, EveryReplacedEntryIsFoundAgain) {
  constexpr std::uint64_t kEntries = 40 * kSegmentEntries;
  append(chunks(kEntries));
  for (std::uint64_t i = 0; i < kEntries; i += 37)
    ASSERT_TRUE(recipe_->replace(i * 10, i * 10 + 10, {chunk(i + 1'000'000)}));

  for (std::uint64_t i = 0; i < kEntries; ++i)
    ASSERT_EQ((*recipe_->find(i * 10 + 5))->entry, chunk(i % 37 == 0 ? i + 1'000'000 : i + 1)) << i;
}

TEST_F(RecipeTest, ReplaceThatDoesNotKeepItsPromisesStops) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  append(chunks(10));

  EXPECT_DEATH((void)recipe_->replace(10, 20, {hole(15)}), "new_end == to");
}

// Segments that overlap, on a damaged volume, may have given the caller these boundaries.
TEST_F(RecipeTest, ReplaceWithinAnEntryIsCorruption) {
  append(chunks(10));

  const auto replaced = recipe_->replace(5, 20, {hole(15)});

  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code(), ErrorCode::kCorruption);
}

TEST_F(RecipeTest, EraseSomeErasesFromTheEndInSteps) {
  append(chunks(10 * kSegmentEntries));

  EXPECT_FALSE(*Recipe::erase_some(*metadata_, kInode, 4));
  EXPECT_EQ(segment_sizes().size(), 6u);
  forget_cached();
  EXPECT_EQ(*recipe_->end(), 6 * kSegmentEntries * 10);
  EXPECT_TRUE(*Recipe::erase_some(*metadata_, kInode, 6));
  EXPECT_THAT(segment_sizes(), IsEmpty());
  EXPECT_TRUE(*Recipe::erase_some(*metadata_, kInode, 1));
}

TEST_F(RecipeTest, SegmentThatDoesNotParseIsCorruption) {
  metadata_->put(Family::kRecipes, encode_recipe_key(kInode, 0), "\x01");

  expect_corruption(recipe_->end());
  expect_corruption(recipe_->replace(0, 0, {chunk(1)}));
}

TEST_F(RecipeTest, GapBetweenSegmentsIsCorruption) {
  put_segment(0, {chunk(1), chunk(2)});
  put_segment(30, {chunk(3)});

  EXPECT_TRUE(recipe_->find(10));
  expect_corruption(recipe_->find(20));
  expect_corruption(recipe_->list(0, 40));
  expect_corruption(recipe_->replace(10, kMaxFileBytes, {}));
  EXPECT_EQ(segment_sizes().size(), 2u);
}

TEST_F(RecipeTest, MissingFirstSegmentIsCorruption) {
  put_segment(30, {chunk(3)});

  expect_corruption(recipe_->find(0));
}

TEST_F(RecipeTest, OverlappingSegmentsAreCorruption) {
  put_segment(0, {chunk(1), chunk(2)});
  put_segment(15, {chunk(3)});

  expect_corruption(recipe_->list(0, 40));
  expect_corruption(recipe_->replace(0, 20, chunks(2)));
}

TEST_F(RecipeTest, SegmentBeyondTheLargestFileIsCorruption) {
  put_segment(kMaxFileBytes - 5, {chunk(1, 6)});

  expect_corruption(recipe_->end());
}

// Against a plain list of entries.
class RecipePropertyTest : public RecipeTest {
 protected:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  Entries random_entries(std::size_t count) {
    Entries entries;
    for (std::size_t i = 0; i < count; ++i) {
      switch (below(8)) {
        case 0: entries.push_back(hole(1 + below(1000))); break;
        case 1: entries.push_back(inlined(std::string(1 + below(20), 'i'))); break;
        default: entries.push_back(chunk(next_id_++, 1 + below(1000))); break;
      }
    }
    return entries;
  }
  std::size_t random_count() { return below(20) == 0 ? below(3000) : below(12); }

  // Entries that fill `length` exactly.
  Entries entries_of_length(std::uint64_t length) {
    Entries entries;
    while (length > 0) {
      RecipeEntry entry = random_entries(1).front();
      if (below(50) == 0) entry = hole(length);
      if (entry.length > length) entry = chunk(next_id_++, length);
      length -= entry.length;
      entries.push_back(entry);
    }
    return entries;
  }

  void step() {
    const std::size_t first = below(4) == 0 ? model_.size() : below(model_.size() + 1);
    const std::size_t count = std::min(random_count(), model_.size() - first);
    const auto from = model_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to = from + static_cast<std::ptrdiff_t>(count);
    const std::uint64_t from_offset = length_of(Entries(model_.begin(), from));
    const std::uint64_t replaced = length_of(Entries(from, to));
    const bool reaches_end = to == model_.end();

    Entries entries = reaches_end ? random_entries(random_count()) : entries_of_length(replaced);
    const std::uint64_t gap = reaches_end && count == 0 && below(10) == 0 ? 1 + below(5000) : 0;
    const auto change = recipe_->replace(from_offset + gap, from_offset + gap + replaced, entries);
    ASSERT_TRUE(change) << change.error().message();

    const std::uint64_t data_bytes_before = data_bytes_of(model_);
    if (gap > 0) entries.insert(entries.begin(), hole(gap));
    const auto at = model_.erase(from, to);
    model_.insert(at, entries.begin(), entries.end());
    model_ = with_holes_merged(model_);
    EXPECT_EQ(*change, static_cast<std::int64_t>(data_bytes_of(model_) - data_bytes_before));
  }

  void expect_as_model() {
    ASSERT_EQ(with_holes_merged(all()), model_);
    const std::vector<std::size_t> sizes = segment_sizes();
    max_segments_ = std::max(max_segments_, sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_LE(sizes[i], kSegmentEntries);
      if (i + 1 < sizes.size()) {
        EXPECT_GE(sizes[i], kShortest);
      }
    }
    const std::uint64_t length = length_of(model_);
    if (length == 0) return;
    const std::uint64_t offset = random_() % length;
    const auto found = *recipe_->find(offset);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->offset <= offset && offset < found->end());
  }

  std::mt19937_64 random_;
  std::uint64_t next_id_ = 1;
  Entries model_;
  std::size_t max_segments_ = 0;
};

TEST_F(RecipePropertyTest, BehavesAsAListOfEntriesDoes) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  for (int i = 0; i < (kSanitized ? 1000 : 4000); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    if (below(20) == 0) commit();
    if (below(10) == 0) forget_cached();
    if (below(400) == 0) reopen();
    if (below(10) == 0) expect_as_model();
    if (HasFailure()) return;
  }
  reopen();
  expect_as_model();
  EXPECT_GE(max_segments_, 4u);
}

}  // namespace
}  // namespace dedupfs
