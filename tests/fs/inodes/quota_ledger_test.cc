#include "fs/inodes/quota_ledger.h"

#include "fs/inodes/inode_record.h"
#include "inodes_of_volume.h"

namespace dedupfs {
namespace {

struct QuotaLedgerTest : InodesOfVolume {
  std::optional<std::string> stored() { return metadata_.get(Family::kCounters, kQuotasCounter).value(); }
};

TEST_F(QuotaLedgerTest, AVolumeWithoutQuotasGetsNoRecord) {
  quotas_.save();
  EXPECT_FALSE(stored());
  EXPECT_TRUE(quotas_.is_empty());
}

TEST_F(QuotaLedgerTest, AccountsComeBackWithTheirSums) {
  const QuotaAccountPtr account = quotas_.make(7, {.files = 3}).value();
  EXPECT_EQ(quotas_.find(account->number()), nullptr) << "not among the others yet";
  quotas_.add(account);
  account->add_present_file();
  account->change_record(0, 500);
  quotas_.save();

  const QuotaLedger again(metadata_);
  const QuotaAccountPtr found = again.find_of_directory(7);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found, again.find(account->number()));
  EXPECT_EQ(found->record(), account->record());
}

TEST_F(QuotaLedgerTest, NumbersAreNotUsedTwice) {
  const QuotaAccountPtr first = quotas_.make(7, {.files = 3}).value();
  quotas_.add(first);
  quotas_.remove(*first);
  EXPECT_TRUE(first->is_removed());
  quotas_.add(quotas_.make(8, {.files = 3}).value());
  quotas_.save();
  QuotaLedger again(metadata_);
  EXPECT_EQ(again.find(first->number()), nullptr);
  EXPECT_GT(again.make(9, {.files = 1}).value()->number(), again.find_of_directory(8)->number());
}

TEST_F(QuotaLedgerTest, ThereAreOnlySoMany) {
  for (std::size_t i = 0; i < kMaxQuotas; ++i) quotas_.add(quotas_.make(10 + i, {.files = 1}).value());
  const auto refused = quotas_.make(7, {.files = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kTooLarge);
  EXPECT_NE(refused.error().message().find("dedupfs-quota remove"), std::string::npos) << refused.error().message();
  quotas_.remove(*quotas_.find_of_directory(10));
  EXPECT_TRUE(quotas_.make(7, {.files = 1}));
}

// Records of inodes may name it, since it was counted in part.
TEST_F(QuotaLedgerTest, TheNumberOfAQuotaThatFailedIsNotUsedAgain) {
  const QuotaNumber failed = quotas_.make(7, {.files = 3}).value()->number();
  quotas_.save();
  QuotaLedger again(metadata_);
  EXPECT_GT(again.make(9, {.files = 1}).value()->number(), failed);
}

TEST_F(QuotaLedgerTest, DamageIsToldAndNothingHolds) {
  metadata_.put(Family::kCounters, kQuotasCounter, "\xff");
  const QuotaLedger damaged(metadata_);
  EXPECT_TRUE(damaged.damage());
  EXPECT_TRUE(damaged.check_readable()) << "no other attempt would do better";
  EXPECT_TRUE(damaged.is_empty());
}

TEST_F(QuotaLedgerTest, RecordsKeepTheirQuotaWhileNobodyKnowsTheQuotas) {
  metadata_.put(Family::kCounters, kQuotasCounter, "\xff");
  QuotaLedger damaged(metadata_);
  InodeTable table(metadata_, 1000, &damaged);
  InodeRecord record = TestMetadata::directory_record(7, kRootInode);
  record.quota = 5;
  put(record);
  const InodePtr directory = table.get(7).value();
  {
    const MutexLock lock(directory->mutex);
    put_record(metadata_, *directory);
    EXPECT_EQ(NewFileInQuota::in(*directory).value().share().unknown, 5u) << "what is new has that of its directory";
  }
  damaged.save();

  EXPECT_EQ(record_of(7).quota, 5u);
  EXPECT_EQ(stored(), "\xff") << "fsck may find an older one";
}

}  // namespace
}  // namespace dedupfs
