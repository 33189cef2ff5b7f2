#include "fs/transactions/writability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(Writability, OfAVolumeThatIsOpenForWritingEverythingButSnapshotsCanBeChanged) {
  const Writability writability(/*read_only=*/false);
  EXPECT_TRUE(writability.check());
  EXPECT_TRUE(writability.check(kRootInode));
  EXPECT_EQ(writability.check(node_of(7, kRootInode)).error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(writability.check(kSnapshotsInode).error().code(), ErrorCode::kReadOnly);
  EXPECT_TRUE(writability.check_not_aborted());
}

TEST(Writability, NothingOfAReadOnlyVolumeCanBeChanged) {
  const Writability writability(/*read_only=*/true);
  EXPECT_EQ(writability.check().error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(writability.check(kRootInode).error().code(), ErrorCode::kReadOnly);
  EXPECT_TRUE(writability.check_not_aborted());
}

TEST(Writability, WhereChangesHaveEndedTheReasonIsGivenAndWhatWasChangedIsCommitted) {
  Writability writability(/*read_only=*/false);
  writability.end_changes({ErrorCode::kBusy, "the first"});
  writability.end_changes({ErrorCode::kBusy, "the second"});
  const Result<void> checked = writability.check(kRootInode);
  EXPECT_EQ(checked.error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(checked.error().message(), "the first");
  EXPECT_FALSE(writability.is_aborted());
  EXPECT_TRUE(writability.check_not_aborted());
}

TEST(Writability, AnAbortIsForGoodAndKeepsTheFirstReason) {
  Writability writability(/*read_only=*/false);
  EXPECT_FALSE(writability.abort_reason());
  writability.abort({ErrorCode::kIo, "the first"});
  writability.abort({ErrorCode::kNoMemory, "the second"});
  EXPECT_TRUE(writability.is_aborted());
  EXPECT_EQ(writability.check().error().code(), ErrorCode::kReadOnly);
  ASSERT_TRUE(writability.abort_reason());
  EXPECT_EQ(writability.abort_reason()->message(), "the first");
  const Result<void> checked = writability.check_not_aborted();
  EXPECT_EQ(checked.error().code(), ErrorCode::kIo);
  EXPECT_THAT(checked.error().message(), testing::HasSubstr("the first"));
}

}  // namespace
}  // namespace dedupfs
