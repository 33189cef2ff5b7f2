#include "fs/check/recipe_repair.h"

#include <gmock/gmock.h>

#include <limits>

#include "chunkers/chunker.h"
#include "damaged_namespace.h"
#include "fs/recipe_entries.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecipeRepairTest : public NamespaceRepairTest {
 protected:
  // Of /folder/below/two, whose recipe is cut at its 20th entry into two segments by those who damage it.
  const InodeNumber file_ = inode_of("/folder/below/two");
  const std::vector<RecipeEntry> entries_ = segment(file_);

  static std::uint64_t length_of(const std::vector<RecipeEntry>& entries) {
    std::uint64_t length = 0;
    for (const RecipeEntry& entry : entries) length += entry.length;
    return length;
  }
  std::vector<RecipeEntry> part(std::size_t from, std::size_t to) const {
    return {entries_.begin() + static_cast<std::ptrdiff_t>(from), entries_.begin() + static_cast<std::ptrdiff_t>(to)};
  }
  void put_segment(std::uint64_t offset, const std::string& value) const {
    volume_.put(Family::kRecipes, encode_recipe_key(file_, offset), value);
  }

  // What is reported lost is [from, to), nothing more can be read than the rest, and that is right.
  void expect_lost(const FsckReport& report, std::uint64_t from, std::uint64_t to) {
    ASSERT_EQ(report.lost_files.size(), 1u);
    ASSERT_EQ(report.lost_files[0].ranges.size(), 1u);
    EXPECT_EQ(report.lost_files[0].ranges[0].offset, from);
    EXPECT_EQ(report.lost_files[0].ranges[0].length, to - from);
    const VolumeTree::Entry& found = tree_.entries.at("/folder/below/two");
    const std::string& before = whole_.entries.at("/folder/below/two").content;
    ASSERT_EQ(found.content.size(), before.size());
    for (std::size_t block = 0; block < found.unreadable.size(); ++block) {
      const std::uint64_t at = block * VolumeTree::kBlock;
      EXPECT_EQ(found.unreadable[block], at < to && at + VolumeTree::kBlock > from) << at;
      if (!found.unreadable[block]) {
        EXPECT_TRUE(found.content.compare(at, VolumeTree::kBlock, before, at, VolumeTree::kBlock) == 0) << at;
      }
    }
  }
};

TEST_F(RecipeRepairTest, SegmentThatDoesNotParseAtTheEndIsLost) {
  const std::uint64_t cut = length_of(part(0, 20));
  put_segment(0, encode_segment(part(0, 20)));
  put_segment(cut, "\x01\xff");

  expect_lost(repair(), cut, length_of(entries_));
}

TEST_F(RecipeRepairTest, SegmentThatIsMissingAtTheBeginningIsLost) {
  const std::uint64_t cut = length_of(part(0, 20));
  put_segment(cut, encode_segment(part(20, entries_.size())));
  volume_.erase(Family::kRecipes, encode_recipe_key(file_, 0));

  expect_lost(repair(), 0, cut);
}

TEST_F(RecipeRepairTest, WhatTwoSegmentsSayDifferentlyIsLost) {
  const std::uint64_t from = length_of(part(0, 15));
  const std::uint64_t to = length_of(part(0, 20));
  put_segment(0, encode_segment(part(0, 20)));
  put_segment(from, encode_segment(part(15, entries_.size())));

  expect_lost(repair(), from, to);
}

TEST_F(RecipeRepairTest, ReferenceToAChunkOfAnotherLengthIsLost) {
  auto entries = entries_;
  ++entries[3].length;
  --entries[4].length;
  put_segment(0, encode_segment(entries));

  expect_lost(repair(), length_of(part(0, 3)), length_of(part(0, 5)));
}

TEST_F(RecipeRepairTest, LostContentThatIsOverwrittenIsWholeAgain) {
  volume_.erase(Family::kRecipes, encode_recipe_key(file_, 0));
  repair();
  const std::string content = noise(200'000, 2);
  auto filesystem = value_of(Filesystem::open(volume_.open(false), TestFilesystem::quiet()));

  EXPECT_TRUE(ok(filesystem->write(file_, 0, bytes_of(content), {}, nullptr)));
  EXPECT_TRUE(ok(filesystem->close()));
  filesystem.reset();

  EXPECT_TRUE(volume_.fsck(FsckOptions::Mode::kCheck).is_clean());
  tree_ = volume_.tree();
  EXPECT_TRUE(is_as_before());
}

// ---------------------------------------------------------------- segment by segment

struct RecipeRepairBySegment : testing::Test {
  static constexpr InodeNumber kFile = 10;

  ChunkTable chunks;
  EmptyIndex index;
  BulkWriter writer{*index};
  RecipeRepair repair{chunks, writer, index.log()};

  // Chunks 1 to 9 of 10 bytes each.
  RecipeRepairBySegment() {
    ChunkExtent extent;
    extent.first = ChunkId{1};
    extent.chunks.resize(9, {.raw_length = 10, .delta_length = 0, .sources = {}});
    EXPECT_TRUE(chunks.add(extent));
  }
  void add(std::uint64_t offset, const std::vector<RecipeEntry>& entries) {
    EXPECT_TRUE(ok(repair.add(offset, encode_segment(entries))));
  }
  // As the index has them afterwards.
  std::vector<RecipeEntry> entries() {
    EXPECT_TRUE(ok(writer.flush()));
    std::vector<RecipeEntry> all;
    std::uint64_t offset = 0;
    for (const auto& [key, value] : index.records(Family::kRecipes)) {
      EXPECT_EQ(value_of(decode_recipe_key(key)).offset, offset) << "segments follow each other";
      for (const RecipeEntry& entry : value_of(decode_segment(value))) {
        offset += entry.length;
        all.push_back(entry);
      }
    }
    return all;
  }
  static RecipeEntry lost(std::uint64_t length) { return chunk(0, length); }
};

TEST_F(RecipeRepairBySegment, ASoundRecipeIsCopied) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 45, .data_bytes = 35});
  add(0, {chunk(1), chunk(2), hole(10)});
  add(30, {chunk(3), inlined("12345")});

  const auto content = value_of(repair.end());

  EXPECT_EQ(content.size, 45u);
  EXPECT_EQ(content.data_bytes, 35u);
  EXPECT_THAT(entries(), ElementsAre(chunk(1), chunk(2), hole(10), chunk(3), inlined("12345")));
  EXPECT_THAT(index.lost, IsEmpty());
  EXPECT_EQ(repair.end_of_chunks(), 4u);
}

TEST_F(RecipeRepairBySegment, AGapIsLost) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 40, .data_bytes = 40});
  add(0, {chunk(1)});
  add(30, {chunk(2)});

  const auto content = value_of(repair.end());

  EXPECT_THAT(entries(), ElementsAre(chunk(1), lost(20), chunk(2)));
  EXPECT_EQ(content.data_bytes, 40u);
  EXPECT_THAT(index.lost, ElementsAre("inode 10 at 10, 20 bytes: the recipe has a gap"));
}

// More entries than any file has.
TEST_F(RecipeRepairBySegment, BehindAGapThatIsFarTooLargeTheFileEnds) {
  const std::uint64_t far = std::uint64_t{1} << 50;
  repair.begin(kFile, RecipeRepair::Recorded{.size = far + 10, .data_bytes = far + 10});
  add(0, {chunk(1)});
  add(far, {chunk(2)});

  EXPECT_EQ(value_of(repair.end()).size, 10u);
  EXPECT_THAT(entries(), ElementsAre(chunk(1)));
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("the file ends there now")));
}

TEST_F(RecipeRepairBySegment, ALongGapIsLostInPiecesThatARecipeMayHave) {
  const std::uint64_t length = std::uint64_t{kMaxChunkBytesLimit} * 1500 + 7;
  repair.begin(kFile, RecipeRepair::Recorded{.size = length + 10, .data_bytes = length + 10});
  add(length, {chunk(1)});

  ASSERT_TRUE(ok(repair.end()));

  const auto found = entries();
  ASSERT_EQ(found.size(), 1502u);
  EXPECT_EQ(found[1500], lost(7));
  EXPECT_EQ(found[1501], chunk(1));
}

TEST_F(RecipeRepairBySegment, WhatTwoSegmentsSayOfOneRangeIsLostAndTheRestIsNot) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 40, .data_bytes = 40});
  add(0, {chunk(1), chunk(2), chunk(3)});
  add(15, {chunk(4), chunk(5), hole(5)});

  ASSERT_TRUE(ok(repair.end()));

  EXPECT_THAT(entries(), ElementsAre(chunk(1), lost(25), hole(5)));
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("at 10, 25 bytes: two segments of the recipe contradict each other")));
}

TEST_F(RecipeRepairBySegment, ASegmentWithinAnotherLosesWhatBothHave) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 30, .data_bytes = 30});
  add(0, {chunk(1), chunk(2), chunk(3)});
  add(10, {chunk(4)});

  ASSERT_TRUE(ok(repair.end()));

  EXPECT_THAT(entries(), ElementsAre(chunk(1), lost(20)));
}

TEST_F(RecipeRepairBySegment, ASegmentThatDoesNotParseLeavesAGap) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 30, .data_bytes = 30});
  add(0, {chunk(1)});
  ASSERT_TRUE(ok(repair.add(10, "\xff\xff")));
  add(20, {chunk(3)});

  ASSERT_TRUE(ok(repair.end()));

  EXPECT_THAT(entries(), ElementsAre(chunk(1), lost(10), chunk(3)));
}

TEST_F(RecipeRepairBySegment, ASegmentBeyondTheLargestFileIsLost) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 10, .data_bytes = 10});
  add(0, {chunk(1)});
  add(kMaxFileBytes - 5, {chunk(2)});

  EXPECT_EQ(value_of(repair.end()).size, 10u);
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("ends beyond the largest file")));
}

TEST_F(RecipeRepairBySegment, AChunkOfAnotherLengthIsNotTheRightOne) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 21, .data_bytes = 21});
  add(0, {chunk(1), chunk(2, 11)});

  ASSERT_TRUE(ok(repair.end()));

  EXPECT_THAT(entries(), ElementsAre(chunk(1), lost(11)));
  EXPECT_THAT(index.lost, ElementsAre("inode 10 at 10, 11 bytes: chunk 2 has 10 bytes"));
}

// It may be found again, when the same content is written. Its id must not be given away.
TEST_F(RecipeRepairBySegment, AReferenceToAMissingChunkStays) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 10, .data_bytes = 10});
  add(0, {chunk(5000)});

  ASSERT_TRUE(ok(repair.end()));

  EXPECT_THAT(entries(), ElementsAre(chunk(5000)));
  EXPECT_EQ(repair.end_of_chunks(), 5001u);
}

TEST_F(RecipeRepairBySegment, AReferenceThatCannotBeIsLost) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 10, .data_bytes = 10});
  add(0, {chunk(kEndOfPlausibleChunkIds)});

  ASSERT_TRUE(ok(repair.end()));

  EXPECT_THAT(entries(), ElementsAre(lost(10)));
  EXPECT_EQ(repair.end_of_chunks(), 1u);
}

TEST_F(RecipeRepairBySegment, TheEndIsLostOnlyWhereDataAreMissing) {
  repair.begin(kFile, RecipeRepair::Recorded{.size = 30, .data_bytes = 20});
  add(0, {chunk(1)});
  EXPECT_EQ(value_of(repair.end()).size, 30u);
  EXPECT_THAT(entries(), ElementsAre(chunk(1), lost(20)));

  repair.begin(kFile + 1, RecipeRepair::Recorded{.size = 30, .data_bytes = 10});  // the rest is a hole
  add(0, {chunk(1)});
  const auto content = value_of(repair.end());
  EXPECT_EQ(content.size, 30u);
  EXPECT_EQ(content.data_bytes, 10u);
  EXPECT_EQ(index.lost.size(), 1u);
}

TEST_F(RecipeRepairBySegment, WithoutARecordTheFileEndsWithItsRecipe) {
  repair.begin(kFile, std::nullopt);
  add(0, {chunk(1), chunk(2)});

  const auto content = value_of(repair.end());

  EXPECT_EQ(content.size, 20u);
  EXPECT_EQ(content.data_bytes, 20u);
  EXPECT_THAT(index.lost, IsEmpty());
}

TEST_F(RecipeRepairBySegment, AnEmptyRecipeIsAnEmptyFile) {
  repair.begin(kFile, std::nullopt);

  EXPECT_EQ(value_of(repair.end()).size, 0u);
  EXPECT_THAT(entries(), IsEmpty());
}

}  // namespace
}  // namespace dedupfs
