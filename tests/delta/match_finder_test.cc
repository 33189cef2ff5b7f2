#include "delta/match_finder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "edits.h"

namespace dedupfs {
namespace {

constexpr std::size_t kAnyBytes = std::size_t{1} << 30;

// What is true of all matches; returns how many bytes are in them.
std::size_t check(std::span<const Match> matches, ByteSpan source, ByteSpan target) {
  std::size_t end = 0;
  std::size_t matched = 0;
  for (const Match& match : matches) {
    EXPECT_GE(match.target, end) << "overlap, or out of order";
    EXPECT_GT(match.bytes, 0U);
    end = match.target + match.bytes;
    EXPECT_LE(end, target.size());
    EXPECT_LE(match.source + match.bytes, source.size());
    if (testing::Test::HasFailure()) return matched;
    EXPECT_TRUE(
        std::ranges::equal(source.subspan(match.source, match.bytes), target.subspan(match.target, match.bytes)));
    matched += match.bytes;
  }
  return matched;
}

std::size_t matched_bytes(ByteSpan source, ByteSpan target, std::size_t likely_offset = 0) {
  MatchFinder finder;
  const auto matches = finder.find(source, target, likely_offset, kAnyBytes);
  EXPECT_TRUE(matches);
  return matches ? check(*matches, source, target) : 0;
}

ByteBuffer concatenated(std::initializer_list<ByteSpan> parts) {
  ByteBuffer all;
  for (const ByteSpan part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(MatchFinder, FindsAllOfACopy) {
  for (const std::size_t size : {32UL, 33UL, 1000UL, 65536UL}) {
    const ByteBuffer bytes = random_bytes(size, 1);

    EXPECT_EQ(matched_bytes(bytes, bytes), size);
  }
}

TEST(MatchFinder, FindsAllButTheEdits) {
  for (const Edit edit : {Edit::kReplace, Edit::kInsert, Edit::kRemove, Edit::kAny}) {
    for (Seed seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << "edit " << static_cast<int>(edit) << ", seed " << seed);
      const ByteBuffer source = random_bytes(16384, seed);
      const ByteBuffer target = edited(source, edit, seed);

      // At the ends of the target a few bytes may be left, which a match would not pay for.
      EXPECT_GE(matched_bytes(source, target) + 16 * 28 + 64, target.size());
    }
  }
}

TEST(MatchFinder, FindsTheTargetAnywhereInAWideSource) {
  const ByteBuffer source = random_bytes(80 << 10, 2);
  for (const std::size_t offset : {0UL, 1UL, 5003UL, 32768UL, 65535UL}) {
    const ByteBuffer target = edited(ByteSpan(source).subspan(offset, 16384), Edit::kAny, 3);
    for (const std::size_t likely_offset : {0UL, offset, 40000UL, source.size() - 1}) {
      SCOPED_TRACE(testing::Message() << "at " << offset << ", expected at " << likely_offset);

      EXPECT_GE(matched_bytes(source, target, likely_offset) + 16 * 28 + 64, target.size());
    }
  }
}

TEST(MatchFinder, FindsPartsInAnotherOrder) {
  const ByteBuffer source = random_bytes(16384, 4);
  const ByteSpan bytes = source;
  const ByteBuffer target =
      concatenated({bytes.subspan(9001, 3000), bytes.subspan(103, 700), bytes.subspan(4002, 5000)});

  EXPECT_EQ(matched_bytes(source, target), target.size());
}

// Where rows of one form and length move by one, all but the digits of each is the same as before at the same place, too.
TEST(MatchFinder, IsNotMisledByRowsOfOneForm) {
  std::string text;
  for (int row = 0; row < 600; ++row)
    text += "row " + std::to_string(10'000'019L * (row + 1)).substr(0, 8) + ':' + std::string(87, '-');
  const ByteSpan source = bytes_of(text);
  const ByteBuffer target =
      concatenated({source.subspan(20000, 5000), source.subspan(25100, 6000), source.subspan(31300, 5000)});
  MatchFinder finder;

  const auto matches = finder.find(source, target, 20000, kAnyBytes);

  ASSERT_TRUE(matches);
  EXPECT_GE(check(*matches, source, target) + 32, target.size());
  EXPECT_LE(matches->size(), 12U);
}

TEST(MatchFinder, GoesOnWhereItWasAlthoughOtherPlacesMatchToo) {
  const ByteBuffer other = random_bytes(8192, 12);
  ByteBuffer own = other;
  for (std::size_t at = 50; at < own.size(); at += 100) own[at] ^= 1;
  ByteBuffer target = own;
  for (const std::size_t at : {1000UL, 3000UL, 5000UL, 7000UL}) target[at] ^= 2;
  const ByteBuffer source = concatenated({other, own});
  MatchFinder finder;

  const auto matches = finder.find(source, target, other.size(), kAnyBytes);

  ASSERT_TRUE(matches);
  EXPECT_EQ(check(*matches, source, target), target.size() - 4);
  EXPECT_EQ(matches->size(), 5U);
}

TEST(MatchFinder, FindsWhatIsBetweenTwoEditsOfItsReach) {
  // A gap longer than an edit that is recognised at once, with something from elsewhere in it.
  const ByteBuffer source = random_bytes(16384, 5);
  const ByteSpan bytes = source;
  const ByteBuffer fresh = random_bytes(5, 6);
  const ByteBuffer target = concatenated({bytes.first(4000), fresh, bytes.subspan(9000, 24), fresh,
                                          bytes.subspan(4000, 4000), bytes.subspan(12000, 1000)});

  EXPECT_EQ(matched_bytes(source, target), target.size() - 10);
}

// A reader would need that part of the source for so little.
TEST(MatchFinder, LeavesOutShortMatchesThatLieFarFromAllLongOnes) {
  const ByteBuffer source = random_bytes(16384, 5);
  const ByteSpan bytes = source;
  const ByteBuffer fresh = random_bytes(5, 6);
  const auto with_part = [&](std::size_t offset, std::size_t length) {
    return concatenated(
        {bytes.subspan(2000, 4000), fresh, bytes.subspan(offset, length), fresh, bytes.subspan(6000, 4000)});
  };

  for (const std::size_t far : {std::size_t{500}, std::size_t{12000}}) {
    EXPECT_EQ(matched_bytes(source, with_part(far, 60)), 8000U);
    EXPECT_EQ(matched_bytes(source, with_part(far, 70)), 8070U) << "it saves more than that costs";
  }
  EXPECT_FALSE(MatchFinder().find(source, with_part(500, 60), 2000, 69)) << "what is left out is not matched";
  EXPECT_TRUE(MatchFinder().find(source, with_part(500, 60), 2000, 70));
}

TEST(MatchFinder, OfShortMatchesAloneNoneIsLeftOut) {
  const ByteBuffer source = random_bytes(16384, 5);
  const ByteSpan bytes = source;
  const ByteBuffer target = concatenated({bytes.subspan(3000, 50), bytes.subspan(9000, 50), bytes.subspan(1000, 50)});

  EXPECT_EQ(matched_bytes(source, target), target.size());
}

TEST(MatchFinder, GivesNothingWhenTooMuchIsUnmatched) {
  const ByteBuffer source = random_bytes(8192, 7);
  const ByteBuffer other = random_bytes(1000, 8);
  const ByteBuffer target = concatenated({source, other});
  MatchFinder finder;

  EXPECT_FALSE(finder.find(source, target, 0, 999));
  EXPECT_TRUE(finder.find(source, target, 0, 1000));
}

TEST(MatchFinder, TakesBuffersOfAnySize) {
  const ByteBuffer bytes = rows(400, 9);
  MatchFinder finder;  // the same for all: nothing is left over from the call before
  for (std::size_t source_size = 1; source_size <= 40; ++source_size) {
    for (std::size_t target_size = 0; target_size <= 80; ++target_size) {
      for (const std::size_t likely_offset : {std::size_t{0}, source_size / 2, source_size - 1}) {
        // Of their own, so that a sanitizer sees a read beyond them.
        const ByteBuffer source(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(source_size));
        const ByteBuffer target(bytes.begin() + 7, bytes.begin() + 7 + static_cast<std::ptrdiff_t>(target_size));

        const auto matches = finder.find(source, target, likely_offset, kAnyBytes);

        ASSERT_TRUE(matches);
        check(*matches, source, target);
      }
    }
  }
}

TEST(MatchFinder, TakesSourcesThatItsTableDoesNotHoldEveryStepOf) {
  const ByteBuffer source = random_bytes(3 << 20, 10);
  const ByteBuffer target = edited(ByteSpan(source).subspan(2'000'003, 65536), Edit::kAny, 11, 4096);

  EXPECT_GE(matched_bytes(source, target) + 16 * 28 + 16 * 64, target.size());
}

// ---------------------------------------------------------------- sources that follow one another

// In pieces that are in another order in the source, so that only the table finds them.
ByteBuffer shuffled(ByteSpan source, Seed seed) {
  constexpr std::size_t kPieceBytes = 700;
  std::mt19937_64 random(seed);
  ByteBuffer made;
  for (int i = 0; i < 20; ++i) {
    const ByteSpan piece = source.subspan(random() % (source.size() - kPieceBytes), kPieceBytes);
    made.insert(made.end(), piece.begin(), piece.end());
  }
  return made;
}

TEST(MatchFinder, SourceThatMovesOnIsSearchedAsOneThatIsNew) {
  constexpr std::size_t kWindowBytes = 150'000;
  const ByteBuffer stream = random_bytes(2 << 20, 12);
  MatchFinder finder;
  std::size_t moved_by = MatchFinder::kAnew;
  std::size_t begin = 0;
  for (Seed seed = 0; begin + kWindowBytes <= stream.size(); ++seed) {
    SCOPED_TRACE(testing::Message() << "from " << begin);
    const ByteSpan source = ByteSpan(stream).subspan(begin, kWindowBytes);
    const ByteBuffer target = shuffled(source, seed);

    const auto matches = finder.find(source, target, 0, kAnyBytes, moved_by);

    ASSERT_TRUE(matches);
    EXPECT_GE(check(*matches, source, target) + 20 * 16, target.size());
    moved_by = 10'007 * (seed % 4);
    begin += moved_by;
  }
}

TEST(MatchFinder, SourceThatIsNewLeavesNothingOfThoseBefore) {
  MatchFinder finder;
  for (Seed seed = 0; seed < 50; ++seed) {
    const ByteBuffer source = random_bytes(1000 + 5000 * (seed % 7), seed);
    const ByteBuffer target = shuffled(source, seed);

    const auto matches = finder.find(source, target, 0, kAnyBytes);

    ASSERT_TRUE(matches);
    EXPECT_GE(check(*matches, source, target) + 20 * 16, target.size()) << seed;
  }
}

// Places are counted on from source to source, in 32 bits.
TEST(MatchFinder, CountsPlacesAsFarAsItLikes) {
  const ByteBuffer source = random_bytes(3 << 20, 14);
  const ByteBuffer target = shuffled(ByteSpan(source).first(200'000), 15);
  MatchFinder finder;
  for (std::uint64_t bytes = 0; bytes <= (std::uint64_t{1} << 32) - 200'000; bytes += source.size())
    ASSERT_TRUE(finder.find(source, ByteSpan(source).first(64), 0, kAnyBytes));
  for (int i = 0; i < 40; ++i) {
    const auto matches = finder.find(ByteSpan(source).first(200'000), target, 0, kAnyBytes);
    ASSERT_TRUE(matches);
    EXPECT_GE(check(*matches, source, target) + 20 * 16, target.size());
  }
}

// Somebody said that it was the same that moved on.
TEST(MatchFinder, MatchesAreTrueWhateverTheSourceBeforeWas) {
  MatchFinder finder;
  for (Seed seed = 0; seed < 200; ++seed) {
    const ByteBuffer source = rows(200 + 37 * (seed % 11), seed % 5);
    const ByteBuffer target = edited(rows(300, seed % 3), Edit::kAny, seed);

    const auto matches = finder.find(source, target, seed % source.size(), kAnyBytes, 1000 * (seed % 40));

    ASSERT_TRUE(matches);
    check(*matches, source, target);
  }
}

}  // namespace
}  // namespace dedupfs
