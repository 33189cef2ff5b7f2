#include "mount/daemon/diff_pages.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

class DiffPagesTest : public testing::Test {
 protected:
  // Each time that the difference is found it has more changes.
  std::size_t changes(const DiffPages::Asked& asked, DiffPages::Clock::time_point now = {}) {
    const auto find = [this]() -> Result<TreeDiff> {
      TreeDiff diff;
      diff.changes.resize(10 * ++found_);
      return diff;
    };
    const auto diff = pages_.get(asked, find, now);
    EXPECT_TRUE(diff);
    return (*diff)->changes.size();
  }

  DiffPages pages_;
  std::size_t found_ = 0;
};

TEST_F(DiffPagesTest, AllPagesAreOfOneMoment) {
  EXPECT_EQ(changes({"monday", std::nullopt, 0}), 10u);
  pages_.note_given(4);
  EXPECT_EQ(changes({"monday", std::nullopt, 4}), 10u);
  pages_.note_given(8);
  EXPECT_EQ(changes({"monday", std::nullopt, 8}), 10u);
  EXPECT_EQ(found_, 1u);
}

TEST_F(DiffPagesTest, WhoBeginsAgainGetsANewOne) {
  changes({"monday", std::nullopt, 0});
  EXPECT_EQ(changes({"monday", std::nullopt, 0}), 20u);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}), 20u);
}

TEST_F(DiffPagesTest, AnotherOneTakesThePlace) {
  changes({"monday", std::nullopt, 0});
  EXPECT_EQ(changes({"monday", "tuesday", 5}), 20u);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}), 30u);
}

TEST_F(DiffPagesTest, AfterItsLastPageItIsGone) {
  changes({"monday", std::nullopt, 0});
  pages_.note_given(10);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}), 20u);
}

TEST_F(DiffPagesTest, AfterAWhileItIsFoundAgain) {
  const DiffPages::Clock::time_point begun;
  changes({"monday", std::nullopt, 0}, begun);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}, begun + DiffPages::kKept), 10u);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}, begun + 3 * DiffPages::kKept), 20u);
}

TEST_F(DiffPagesTest, AVeryLargeOneIsNotKept) {
  constexpr std::size_t kMany = DiffPages::kMaxBytes / sizeof(TreeChange) / 10;
  found_ = kMany;
  changes({"monday", std::nullopt, 0});
  changes({"monday", std::nullopt, 5});
  EXPECT_EQ(found_, kMany + 2);
}

TEST_F(DiffPagesTest, WithoutAClientItIsDropped) {
  const DiffPages::Clock::time_point begun;
  changes({"monday", std::nullopt, 0}, begun);
  pages_.drop_old(begun + DiffPages::kKept);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}, begun), 10u) << "the client may still come";
  pages_.drop_old(begun + 2 * DiffPages::kKept);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}, begun), 20u);
}

TEST_F(DiffPagesTest, AFailureKeepsNothing) {
  const auto failed = pages_.get({"monday", std::nullopt, 0}, []() -> Result<TreeDiff> {
    return Error{ErrorCode::kNotFound, "monday"};
  });

  EXPECT_FALSE(failed);
  EXPECT_EQ(changes({"monday", std::nullopt, 5}), 10u);
}

}  // namespace
}  // namespace dedupfs
