#include "replica/eviction/fetched_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scratch_backing.h"
#include "shipped_container.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

class FetchedRangesTest : public testing::Test {
 protected:
  Result<std::vector<FileRange>> fetch(const GoOn& go_on = [] { return Result<void>(); }) {
    if (!made_) made_ = disk_.open_root("/").value()->open(container_.name(), Backing::Mode::kOpenOrCreate).value();
    EXPECT_TRUE(made_->truncate(container_.content().size()));
    return fetch_kept_ranges({.bucket = container_.bucket(), .go_on = go_on}, container_.name(), container_.file(),
                             *made_);
  }
  void expect_fetched(const std::vector<FileRange>& kept, std::uint64_t offset, std::uint64_t length) {
    EXPECT_TRUE(ranges_between(kept, offset, offset + length).empty()) << length << " bytes at " << offset;
  }
  void expect_as_in_bucket(const std::vector<FileRange>& kept) {
    for (const FileRange& range : kept) {
      ByteBuffer bytes(range.length);
      ASSERT_TRUE(made_->read(range.offset, bytes));
      EXPECT_EQ(text_of(bytes), container_.content().substr(range.offset, range.length)) << range.offset;
    }
  }

  ShippedContainer container_;
  ScratchBacking disk_{64 << 20};
  std::unique_ptr<BackingFile> made_;
};

TEST_F(FetchedRangesTest, OfAPlainContainerTheDirectoriesAreFetched) {
  container_.ship();

  const auto kept = fetch();

  ASSERT_TRUE(kept) << kept.error().message();
  constexpr std::uint64_t kFront = 16 << 10;  // what a reader of a directory asks for
  const std::uint64_t size = container_.content().size();
  for (const FileRange& directory : container_.directories())
    expect_fetched(*kept, directory.offset, std::min(std::max(directory.length, kFront), size - directory.offset));
  expect_fetched(*kept, 0, kKeptBegin);
  expect_fetched(*kept, size - kKeptEnd, kKeptEnd);
  expect_as_in_bucket(*kept);
  EXPECT_LT(total_length(*kept), size / 5);
  EXPECT_LE(container_.reads(), 25u) << "small regions come together, others with one request each";
}

TEST_F(FetchedRangesTest, OfAnEncryptedOneTheBeginningAndTheEnd) {
  container_.content() = std::string(text_of(random_bytes(container_.content().size(), 1)));
  container_.ship();

  const auto kept = fetch();

  ASSERT_TRUE(kept) << kept.error().message();
  expect_fetched(*kept, 0, kKeptBegin);
  expect_fetched(*kept, container_.content().size() - kKeptEnd, kKeptEnd);
  expect_as_in_bucket(*kept);
  EXPECT_EQ(container_.reads(), 2u);
}

TEST_F(FetchedRangesTest, WhatIsNoRegionEndsTheWayFromOneToTheNext) {
  container_.content()[container_.directories()[2].offset] ^= 1;
  container_.ship();

  const auto kept = fetch();

  ASSERT_TRUE(kept) << kept.error().message();
  expect_fetched(*kept, container_.directories()[1].offset, container_.directories()[1].length);
  EXPECT_LE(container_.reads(), 5u);
}

TEST_F(FetchedRangesTest, AContainerOfSomeBytesIsFetchedAsAWhole) {
  container_.content().resize(100);
  container_.ship();

  EXPECT_EQ(fetch().value(), (std::vector<FileRange>{{.offset = 0, .length = 100}}));
}

TEST_F(FetchedRangesTest, AnObjectThatIsMissingIsNamed) {
  container_.ship();
  const std::string lost = container_.bucket().objects().names().front();
  ASSERT_TRUE(lost.starts_with("c/")) << lost;
  container_.bucket().objects().erase(lost);

  const auto kept = fetch();

  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(kept.error().message(), HasSubstr(lost));
}

TEST_F(FetchedRangesTest, CanBeEnded) {
  container_.ship();
  int asked = 0;

  const auto kept = fetch([&]() -> Result<void> {
    return ++asked < 3 ? Result<void>() : Error{ErrorCode::kInterrupted, "enough"};
  });

  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(container_.reads(), 2u);
}

}  // namespace
}  // namespace dedupfs
