#include "fs/transactions/space_guard.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/units.h"

namespace dedupfs {
namespace {

// A disk of which only the free space is known.
class FakeDisk : public BackingFolder {
 public:
  FakeDisk() : BackingFolder("/volume") {}

  Space space_{.total_bytes = 1000 * kMiB, .available_bytes = 500 * kMiB};
  int asked = 0;

  Result<Space> space() override {
    ++asked;
    return space_;
  }
  Result<std::unique_ptr<BackingFile>> open(std::string_view, Mode) override { return unused(); }
  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view) override { return unused(); }
  Result<void> make_folder(std::string_view) override { return unused(); }
  Result<void> remove_folder(std::string_view) override { return unused(); }
  Result<void> rename(std::string_view, BackingFolder&, std::string_view) override { return unused(); }
  Result<void> link(std::string_view, BackingFolder&, std::string_view) override { return unused(); }
  Result<void> unlink(std::string_view) override { return unused(); }
  Result<void> sync() override { return unused(); }
  Result<std::vector<std::string>> list() override { return unused(); }
  Result<Status> status() override { return unused(); }
  Result<Status> status(std::string_view) override { return unused(); }

 private:
  static Error unused() { return {ErrorCode::kUnsupported, "not part of this disk"}; }
};

struct SpaceGuardTest : testing::Test {
  FakeDisk disk;
  std::uint64_t pending = 0;
  int settled = 0;
  std::uint64_t gained_by_settling = 0;
  SpaceGuard guard{disk, [this] { return pending; },
                   [this] {
                     ++settled;
                     disk.space_.available_bytes += gained_by_settling;
                   }};
};

TEST_F(SpaceGuardTest, DataIsAdmittedUpToTheReserve) {
  EXPECT_TRUE(guard.admit_data(479 * kMiB));  // 2 % of 1000 MiB are held back

  const Result<void> refused = guard.admit_data(481 * kMiB);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace);
}

TEST_F(SpaceGuardTest, WhatIsStillInMemoryCounts) {
  pending = 100 * kMiB;

  EXPECT_TRUE(guard.admit_data(379 * kMiB));
  EXPECT_FALSE(guard.admit_data(381 * kMiB));
}

TEST_F(SpaceGuardTest, WhatIsStoredSinceTheDiskWasAskedStillCounts) {
  pending = 479 * kMiB + kMiB / 2;
  ASSERT_TRUE(guard.admit_data(4096));
  disk.space_.available_bytes -= pending;
  pending = 0;

  EXPECT_FALSE(guard.admit_data(600 * 1024));
  EXPECT_TRUE(guard.admit_data(500 * 1024));
}

TEST_F(SpaceGuardTest, BeforeItRefusesItLetsPendingDataSettle) {
  gained_by_settling = 10 * kMiB;

  EXPECT_TRUE(guard.admit_data(485 * kMiB));

  EXPECT_EQ(settled, 1);
}

TEST_F(SpaceGuardTest, NamesMayUseHalfOfTheReserve) {
  disk.space_.available_bytes = 15 * kMiB;

  EXPECT_FALSE(guard.admit_data(1));
  EXPECT_TRUE(guard.admit_metadata());
  disk.space_.available_bytes = 9 * kMiB;
  EXPECT_FALSE(guard.admit_data(1));  // asks the disk again
  EXPECT_FALSE(guard.admit_metadata());
}

TEST_F(SpaceGuardTest, TheDiskIsNotAskedForEachSmallWrite) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(guard.admit_data(4096));

  EXPECT_LT(disk.asked, 20);
}

TEST_F(SpaceGuardTest, RoomIsWhatDataMayUse) {
  pending = 30 * kMiB;

  const auto room = guard.room();

  ASSERT_TRUE(room);
  EXPECT_EQ(room->total_bytes, 1000 * kMiB);
  EXPECT_EQ(room->available_bytes, 450 * kMiB);
}

}  // namespace
}  // namespace dedupfs
