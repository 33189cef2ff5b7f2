#include "store/volume/ballast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "store/volume/disk_reserve.h"
#include "support/memory_disk.h"
#include "support/units.h"

namespace dedupfs {
namespace {

const Path kVolume = "/volume";

struct BallastTest : testing::Test {
  BallastTest() {
    EXPECT_TRUE(disk->make_directory(kVolume));
    volume = disk->open_root(kVolume).value();
    index = volume->make_and_open_folder("index").value();
  }

  void leave(std::uint64_t available) { disk->set_space({.total_bytes = 1000 * kMiB, .available_bytes = available}); }
  void make_log(std::uint64_t bytes) {
    EXPECT_TRUE(index->open("000007.log", Backing::Mode::kOpenOrCreate).value()->truncate(bytes));
  }
  std::uint64_t on_disk() {
    const auto file = disk->open(kVolume / kBallastFile, Backing::Mode::kRead);
    return file ? (*file)->size().value() : 0;
  }

  const std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  std::shared_ptr<BackingFolder> volume;
  std::shared_ptr<BackingFolder> index;
  const std::uint64_t reserve = reserve_of({.total_bytes = 1000 * kMiB, .available_bytes = 0});
};

TEST_F(BallastTest, IsAsLargeAsTheLogAndABitMore) {
  leave(500 * kMiB);
  Ballast ballast(volume, index);
  EXPECT_EQ(on_disk(), 0u) << "nobody asked for it";

  make_log(1000);
  ballast.keep();
  EXPECT_EQ(on_disk(), Ballast::kMinBytes);
  make_log(10 * kMiB - 1);
  ballast.keep();
  EXPECT_EQ(on_disk(), 10 * kMiB + Ballast::kMinBytes);
  ballast.keep_least();
  EXPECT_EQ(on_disk(), Ballast::kMinBytes);
}

TEST_F(BallastTest, GrowsBeforeTheLogDoes) {
  leave(500 * kMiB);
  Ballast ballast(volume, index);
  ballast.keep();
  make_log(2 * kMiB);

  ballast.keep_with(1000);
  EXPECT_EQ(on_disk(), Ballast::kMinBytes) << "for so little nobody looks at the log";
  ballast.keep_with(3 * kMiB);
  EXPECT_EQ(on_disk(), 5 * kMiB + Ballast::kMinBytes);
}

TEST_F(BallastTest, LeavesTheReserveAlone) {
  Ballast ballast(volume, index);
  leave(reserve + 3 * kMiB);
  make_log(50 * kMiB);
  ballast.keep();
  EXPECT_EQ(on_disk(), 3 * kMiB);
}

TEST_F(BallastTest, OfAFullDiskIsAtMostHalfOfWhatIsLeft) {
  Ballast ballast(volume, index);
  leave(100'000);
  make_log(50 * kMiB);
  ballast.keep();
  EXPECT_EQ(on_disk(), 50'000u);
}

TEST_F(BallastTest, ComesBackWithTheNextCommitOnceThereIsRoom) {
  leave(0);
  Ballast ballast(volume, index);
  ballast.keep();
  EXPECT_EQ(on_disk(), 0u);
  leave(500 * kMiB);

  ballast.keep_with(1000);

  EXPECT_EQ(on_disk(), Ballast::kMinBytes);
}

TEST_F(BallastTest, OfTheLastMountIsGivenUpWhereTheDiskIsFull) {
  leave(500 * kMiB);
  Ballast(volume, index).keep();

  Ballast next(volume, index);
  EXPECT_FALSE(next.release_if_scarce());
  leave(Ballast::kMinBytes - 1);
  EXPECT_TRUE(next.release_if_scarce());
  EXPECT_EQ(on_disk(), 0u);
  EXPECT_FALSE(next.release_if_scarce());
}

TEST_F(BallastTest, ThatACopyOfTheVolumeHasAsAHoleIsAllocatedAgain) {
  leave(500 * kMiB);
  Ballast(volume, index).keep();
  std::vector<std::string> asked;
  disk->set_fault([&](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    asked.emplace_back(operation);
    return std::nullopt;
  });

  Ballast(volume, index).keep();

  EXPECT_EQ(std::ranges::count(asked, "truncate"), 2) << "to nothing, and back";
  EXPECT_EQ(on_disk(), Ballast::kMinBytes);
}

TEST_F(BallastTest, ThatCannotBeKeptIsNone) {
  leave(500 * kMiB);
  disk->set_fault([](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "truncate") return std::nullopt;
    return MemoryDisk::Fault{.error = {ErrorCode::kNoSpace, "full"}};
  });
  Ballast ballast(volume, index);

  ballast.keep();

  EXPECT_EQ(ballast.bytes(), 0u);
  EXPECT_FALSE(ballast.release());
}

}  // namespace
}  // namespace dedupfs
