#include "store/ingest/source_windows.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "sample_store.h"

namespace dedupfs {
namespace {

constexpr std::size_t kWindowChunkBytes = 30'000;

ByteBuffer content_of_chunk(std::uint64_t id) {
  return random_bytes(kWindowChunkBytes + id * 7, id);
}

class SourceWindowsTest : public testing::Test {
 protected:
  static JoinedChunks source_of(const std::vector<std::uint64_t>& numbers) {
    JoinedChunks source;
    for (const std::uint64_t number : numbers) {
      const auto bytes = std::make_shared<ByteBuffer>(content_of_chunk(number));
      source.append({*bytes, bytes});
    }
    return source;
  }

  // Returns by how much the source moved on.
  std::size_t expect_view(const std::vector<std::uint64_t>& numbers) {
    ByteBuffer expected;
    for (const std::uint64_t number : numbers) expected = joined(std::move(expected), content_of_chunk(number));
    const JoinedChunks source = source_of(numbers);
    const auto view = windows_.view(ids_of(numbers), source);
    EXPECT_TRUE(std::ranges::equal(view.bytes, expected));
    return view.moved_by;
  }

  SourceWindows windows_;
};

TEST_F(SourceWindowsTest, SourceMovesOn) {
  EXPECT_EQ(expect_view({1, 2, 3}), MatchFinder::kAnew);
  EXPECT_EQ(expect_view({1, 2, 3}), 0u);
  EXPECT_EQ(expect_view({2, 3, 4}), content_of_chunk(1).size());
  EXPECT_EQ(expect_view({2, 3, 4, 5, 6}), 0u);
  EXPECT_EQ(expect_view({6, 9}), content_of_chunk(2).size() + content_of_chunk(3).size() + content_of_chunk(4).size() +
                                     content_of_chunk(5).size());
}

TEST_F(SourceWindowsTest, WhatIsNotAllOfTheRestOfTheOneBeforeIsAnother) {
  expect_view({1, 2, 3});
  EXPECT_EQ(expect_view({2, 4}), MatchFinder::kAnew);
  EXPECT_EQ(expect_view({1, 2}), MatchFinder::kAnew);
}

TEST_F(SourceWindowsTest, StreamsTakeTurns) {
  expect_view({1, 2, 3});
  expect_view({11, 12, 13});
  EXPECT_EQ(expect_view({2, 3, 4}), content_of_chunk(1).size());
  EXPECT_EQ(expect_view({12, 13, 14}), content_of_chunk(11).size());
}

TEST_F(SourceWindowsTest, TheOneThatWasUsedLeastRecentlyIsGivenUp) {
  for (std::uint64_t first = 1; first <= SourceWindows::kWindows; ++first) expect_view({10 * first});
  EXPECT_EQ(expect_view({10}), 0u);

  expect_view({1000});

  EXPECT_EQ(expect_view({10}), 0u);
  EXPECT_EQ(expect_view({20}), MatchFinder::kAnew);
}

TEST_F(SourceWindowsTest, LongSourcesAreNotKept) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = 1; number * kWindowChunkBytes <= SourceWindows::kMaxKeptBytes; ++number)
    numbers.push_back(number);
  numbers.push_back(100);
  EXPECT_EQ(expect_view(numbers), MatchFinder::kAnew);
  EXPECT_EQ(expect_view(numbers), MatchFinder::kAnew);
}

TEST_F(SourceWindowsTest, SourceInOnePieceIsNotCopied) {
  const auto bytes = std::make_shared<ByteBuffer>(joined(content_of_chunk(1), content_of_chunk(2)));
  JoinedChunks source;
  source.append({ByteSpan(*bytes).first(content_of_chunk(1).size()), bytes});
  source.append({ByteSpan(*bytes).subspan(content_of_chunk(1).size()), bytes});

  EXPECT_EQ(windows_.view(ids_of({1, 2}), source).bytes.data(), bytes->data());

  EXPECT_EQ(expect_view({2, 3}), content_of_chunk(1).size()) << "the finder knows it nevertheless";
}

TEST_F(SourceWindowsTest, AnythingThatFollowsAnythingIsAsItShouldBe) {
  std::mt19937 random(1);
  std::uint64_t first = 1;
  for (int i = 0; i < 500; ++i) {
    first = random() % 10 == 0 ? random() % 50 + 1 : first + random() % 3;
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = first; number <= first + random() % 5; ++number) numbers.push_back(number);
    expect_view(numbers);
  }
}

}  // namespace
}  // namespace dedupfs
