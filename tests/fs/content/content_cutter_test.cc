#include "fs/content/content_cutter.h"

#include <gtest/gtest.h>

#include <random>

#include "chunkers/registry.h"

namespace dedupfs {
namespace {

class ContentCutterTest : public ::testing::TestWithParam<const char*> {
 protected:
  ContentCutterTest() : chunker_(std::move(*make_chunker(GetParam()))), cutter_(*chunker_) {}

  std::vector<Piece> cut_whole(ByteSpan content) const {
    std::vector<Piece> pieces;
    EXPECT_EQ(cutter_.cut(content, true, pieces), content.size());
    return pieces;
  }

  // As a stream would: windows that grow by portions and start where the last certain piece ended.
  std::vector<Piece> cut_in_portions(ByteSpan content, std::mt19937& random) const {
    std::vector<Piece> pieces;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (end < content.size()) {
      end = std::min(content.size(), end + 1 + random() % 100000);
      begin += cutter_.cut(content.subspan(begin, end - begin), end == content.size(), pieces);
    }
    return merged(pieces);
  }

  // A long hole may come in parts.
  static std::vector<Piece> merged(const std::vector<Piece>& pieces) {
    std::vector<Piece> out;
    for (const Piece& piece : pieces) {
      if (piece.is_hole && !out.empty() && out.back().is_hole)
        out.back().length += piece.length;
      else
        out.push_back(piece);
    }
    return out;
  }

  std::unique_ptr<Chunker> chunker_;
  ContentCutter cutter_;
};

ByteBuffer random_bytes(std::size_t size, std::mt19937& random) {
  ByteBuffer bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() | 1);  // never zero
  return bytes;
}

TEST_P(ContentCutterTest, MakesAHoleOfExactlyTheLongRunsOfZeros) {
  std::mt19937 random(1);
  ByteBuffer content = random_bytes(300000, random);
  std::fill_n(content.begin() + 100003, kHoleRunBytes, 0);
  std::fill_n(content.begin() + 200001, kHoleRunBytes - 1, 0);

  std::uint64_t offset = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> holes;
  for (const Piece& piece : cut_whole(content)) {
    if (piece.is_hole) holes.emplace_back(offset, piece.length);
    offset += piece.length;
  }

  EXPECT_EQ(holes, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{100003, kHoleRunBytes}}));
  EXPECT_EQ(offset, content.size());
}

TEST_P(ContentCutterTest, CutsTheSameHoweverItIsFed) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    ByteBuffer content;
    while (content.size() < 600000) {
      const auto part = random_bytes(random() % 80000, random);
      content.insert(content.end(), part.begin(), part.end());
      content.insert(content.end(), random() % (random() % 4 == 0 ? 100000 : 20000), 0);
    }

    EXPECT_EQ(cut_in_portions(content, random), cut_whole(content));
  }
}

TEST_P(ContentCutterTest, LeavesNoMoreUncutThanItSays) {
  std::mt19937 random(1);
  for (const std::size_t zeros :
       {std::size_t{0}, std::size_t{5000}, kHoleRunBytes - 1, kHoleRunBytes, std::size_t{300000}}) {
    ByteBuffer content = random_bytes(500000, random);
    content.insert(content.end(), zeros, 0);
    std::vector<Piece> pieces;

    const std::size_t covered = cutter_.cut(content, false, pieces);

    EXPECT_LE(content.size() - covered, cutter_.largest_rest());
  }
}

TEST_P(ContentCutterTest, ContentOfZerosIsOneHole) {
  const ByteBuffer zeros(1 << 20, 0);

  EXPECT_EQ(cut_whole(zeros), (std::vector<Piece>{{zeros.size(), true}}));
}

INSTANTIATE_TEST_SUITE_P(Chunkers, ContentCutterTest, ::testing::Values("gear:avg=8k", "vram:avg=8k", "fixed:avg=8k"));

}  // namespace
}  // namespace dedupfs
