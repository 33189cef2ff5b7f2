#include "fs/inodes/quota_guard.h"

#include "fs/inodes/inode_record.h"
#include "inodes_of_volume.h"

namespace dedupfs {
namespace {

struct QuotaGuardTest : InodesOfVolume {
  int measurements_ = 0;
  QuotaGuard guard_{quotas_, reaper_, transactions_, [this](const QuotaAccountPtr&, const GoOn& go_on) {
                      ++measurements_;
                      (void)go_on();
                    }};
  QuotaAccountPtr account_ = [this] {
    QuotaAccountPtr account = quotas_.make(1, {.logical_bytes = 1000}).value();
    quotas_.add(account);
    return account;
  }();
  InodePtr file_ = [this] {
    InodeRecord record = TestMetadata::file_record(7);
    record.quota = account_->number();
    put(record);
    return table_.get(7).value();
  }();
  FileContent content_{*volume_, budget_, 7, 0, 0};
};

TEST_F(QuotaGuardTest, AReservationGoesBackUnlessContentUsesIt) {
  {
    const auto room = guard_.reserve(file_, content_, 0, 600);
    ASSERT_TRUE(room);
    EXPECT_EQ(account_->status().logical_bytes, 600u);
    EXPECT_FALSE(guard_.reserve(file_, content_, 600, 600)) << "both together do not fit";
  }
  EXPECT_EQ(account_->status().logical_bytes, 0u);
}

TEST_F(QuotaGuardTest, AnInodeWithoutAQuotaNeedsNoRoom) {
  put_file(8);
  const InodePtr other = table_.get(8).value();
  EXPECT_TRUE(guard_.reserve(other, content_, 0, 1 << 20));
  EXPECT_EQ(account_->status().logical_bytes, 0u);
}

TEST_F(QuotaGuardTest, TheTopOfATreeHasANameOutsideOfIt) {
  put_file(1);
  put_file(2);
  const InodePtr top = table_.get(1).value();
  const InodePtr outside = table_.get(2).value();
  const InodeLocks locks(*top, *outside, *file_, nullptr);
  top->quota.account = account_;
  EXPECT_TRUE(QuotaGuard::check_same_tree(*outside, *top));
  EXPECT_TRUE(QuotaGuard::check_same_tree(*top, *file_));
  EXPECT_EQ(QuotaGuard::check_same_tree(*outside, *file_).error().code(), ErrorCode::kCrossesTrees);
  EXPECT_EQ(QuotaGuard::check_same_tree(*top, *outside).error().code(), ErrorCode::kCrossesTrees);
}

TEST_F(QuotaGuardTest, StoredBytesAreMeasuredIfTheySeemToLeaveNoRoom) {
  account_->set_limits({.stored_bytes = 100});
  EXPECT_TRUE(guard_.admit(*file_, 0, 50, nullptr));
  EXPECT_EQ(measurements_, 0);
  EXPECT_TRUE(guard_.admit(*file_, 0, 200, nullptr));
  EXPECT_EQ(measurements_, 1);
}

TEST_F(QuotaGuardTest, AWriterWhoIsCancelledWhileItMeasuresIsNotToldThatTheTreeIsFull) {
  account_->set_limits({.stored_bytes = 100});
  const auto admitted = guard_.admit(*file_, 0, 200, [] { return true; });
  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().code(), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace dedupfs
