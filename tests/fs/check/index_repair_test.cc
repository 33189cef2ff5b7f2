// The folders that a repair of the index leaves and puts in place.
#include "fs/check/index_repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/damaged_volume.h"
#include "fs/format/hold_records.h"
#include "index/counters.h"
#include "store/format/features.h"
#include "store/format/superblock_features.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A new volume without any file.
struct IndexRepairTest : testing::Test {
  TempDir directory;
  const Path path = directory.path() / "volume";
  std::vector<std::string> lines;
  CheckReport report{[this](const std::string& line) { lines.push_back(line); }};
  std::vector<std::string> lost;
  const RepairLog log{.repaired = [](const std::string&) {},
                      .lost = [this](const std::string& line) { lost.push_back(line); }};

  IndexRepairTest() { value_of(Volume::create(path, TestFilesystem::settings())); }

  IndexRepair repair() const { return {folder_at(path), value_of(read_superblock(*folder_at(path)))}; }
  void build() { ASSERT_TRUE(ok(repair().build({}, {}, report, log, no_progress, 1))); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path / name); }
  // Folders that tests take for an index.
  void make(const std::string& name) const {
    std::filesystem::create_directory(path / name);
    overwrite(path / name / "mark", name);
  }
  std::string mark() const { return content_of(path / "index" / "mark"); }
  void remove_index() const { std::filesystem::remove_all(path / "index"); }
};

TEST_F(IndexRepairTest, WithoutLeftoversThereIsNothingToCleanUp) {
  EXPECT_THAT(value_of(repair().clean_up(false)), IsEmpty());
  EXPECT_THAT(value_of(repair().clean_up(true)), IsEmpty());
}

// They are kept for whoever wants to look at what was lost.
TEST_F(IndexRepairTest, OldIndexesBesideAnIndexAreNoLeftovers) {
  make("index.damaged");

  EXPECT_THAT(value_of(repair().clean_up(true)), IsEmpty());
  EXPECT_TRUE(exists("index.damaged"));
}

TEST_F(IndexRepairTest, ACheckNamesTheLeftoversAndChangesNothing) {
  make("index.repair");
  make("index.salvage");

  EXPECT_THAT(value_of(repair().clean_up(false)), ElementsAre(HasSubstr("a repair was interrupted")));

  EXPECT_TRUE(exists("index.repair"));
  EXPECT_TRUE(exists("index.salvage"));
}

TEST_F(IndexRepairTest, ARepairThatDidNotGetFarIsUndone) {
  make("index.repair");
  make("index.salvage");

  EXPECT_THAT(value_of(repair().clean_up(true)), ElementsAre("an interrupted repair is undone"));

  EXPECT_FALSE(exists("index.repair"));
  EXPECT_FALSE(exists("index.salvage"));
  EXPECT_TRUE(exists("index"));
}

// As a power cut between the two renames of the swap leaves it.
TEST_F(IndexRepairTest, ACompleteIndexTakesTheEmptyPlace) {
  build();
  std::filesystem::rename(path / "index", path / "index.damaged");

  EXPECT_THAT(value_of(repair().clean_up(true)),
              ElementsAre("an interrupted repair is finished: its index is in place"));

  EXPECT_FALSE(exists("index.repair"));
  EXPECT_TRUE(exists("index.damaged"));
  EXPECT_TRUE(ok(Volume::open(path, {.threads = 1})));
}

TEST_F(IndexRepairTest, AnIncompleteIndexDoesNotAndTheNewestOldOneComesBack) {
  remove_index();
  make("index.damaged");
  make("index.damaged.2");
  make("index.repair");

  EXPECT_THAT(value_of(repair().clean_up(true)),
              ElementsAre("the index was missing; " + (path / "index.damaged.2").string() + " is put back"));

  EXPECT_EQ(mark(), "index.damaged.2");
  EXPECT_TRUE(exists("index.damaged"));
  EXPECT_FALSE(exists("index.repair"));
}

// Complete is what names the volume, which is written last.
TEST_F(IndexRepairTest, AnIndexOfAnotherVolumeIsNotComplete) {
  build();
  {
    const auto index = value_of(Database::open(folder_at(path / "index.repair"), {}));
    Database::Batch batch(*index);
    batch.put(Family::kCounters, kVolumeUuidCounter, "01234567-89ab-4cde-8f01-23456789abcd");
    ASSERT_TRUE(ok(index->write(batch)));
  }
  remove_index();
  make("index.damaged");

  EXPECT_THAT(value_of(repair().clean_up(true)), ElementsAre(HasSubstr("is put back")));
}

TEST_F(IndexRepairTest, TheOldIndexIsKeptUnderANameThatIsFree) {
  for (const char* expected : {"index.damaged", "index.damaged.2", "index.damaged.3"}) {
    build();
    EXPECT_EQ(value_of(repair().swap()), expected);
    EXPECT_TRUE(exists(expected));
    EXPECT_FALSE(exists("index.repair"));
  }
  ASSERT_TRUE(ok(repair().discard("index.damaged.2")));
  EXPECT_FALSE(exists("index.damaged.2"));
  EXPECT_TRUE(exists("index.damaged"));
}

TEST_F(IndexRepairTest, WithoutAnIndexNothingIsReplaced) {
  build();
  remove_index();

  EXPECT_EQ(value_of(repair().swap()), std::nullopt);
  EXPECT_TRUE(exists("index"));
}

TEST_F(IndexRepairTest, BuildingLeavesTheIndexAsItIs) {
  const auto before = bytes_below(path / "index");

  build();

  EXPECT_EQ(bytes_below(path / "index"), before);
  EXPECT_THAT(lost, IsEmpty());
  EXPECT_TRUE(exists("index.repair"));
  ASSERT_TRUE(ok(repair().discard()));
  EXPECT_FALSE(exists("index.repair"));
}

TEST_F(IndexRepairTest, WithoutAnythingToReadFromTheLossIsSaid) {
  remove_index();

  build();

  EXPECT_THAT(lost, ElementsAre(HasSubstr("the index of files and directories is lost completely")));
}

TEST_F(IndexRepairTest, WhoeverWatchesCanEndIt) {
  DamagedVolume volume;
  const auto folder = folder_at(volume.path());
  IndexRepair cancelled(folder, value_of(read_superblock(*folder)));
  const auto never = [](int, std::uint64_t, std::uint64_t) -> Result<void> {
    return Error{ErrorCode::kInterrupted, "cancelled"};
  };

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, cancelled.build({}, {}, report, log, never, 1)));
}

// What was given away before must not be given away again, whatever is found in the containers.
TEST_F(IndexRepairTest, CountersDoNotGoBackUnlessTheyAreImpossible) {
  const auto put = [&](std::string_view name, std::uint64_t value) {
    const auto index = value_of(Database::open(folder_at(path / "index"), {}));
    Database::Batch batch(*index);
    batch.put(Family::kCounters, name, encode_number(value));
    ASSERT_TRUE(ok(index->write(batch)));
  };
  const auto built = [&](std::string_view name) {
    build();
    const auto index = value_of(Database::open(folder_at(path / "index.repair"), {.read_only = true}));
    return value_of(get_number(*index, name)).value();
  };
  put(kNextChunkIdCounter, 4'000'000);
  EXPECT_EQ(built(kNextChunkIdCounter), 4'000'000u);
  put(kNextChunkIdCounter, std::uint64_t{1} << 60);
  EXPECT_LT(built(kNextChunkIdCounter), 4'000'000u);
  put(kNextContainerCounter, 77);
  EXPECT_EQ(built(kNextContainerCounter), 77u);
}

// A table of names is lost, that of the counters is not: the checkpoint gives the names.
TEST_F(IndexRepairTest, AHoldThatIsYoungerThanTheCheckpointStays) {
  TestFilesystem fs(TestFilesystem::with_checkpoints());
  fs.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs->create_snapshot("a")));
  fs.close();  // with a checkpoint
  std::filesystem::copy(fs.path() / kCheckpointsDirectory, fs.path() / "saved");
  fs.open();
  ASSERT_TRUE(ok(fs->hold_snapshot("a", std::nullopt)));
  fs.close();
  std::filesystem::remove_all(fs.path() / kCheckpointsDirectory);
  std::filesystem::rename(fs.path() / "saved", fs.path() / kCheckpointsDirectory);
  std::vector<Path> tables;
  for (const auto& file : std::filesystem::directory_iterator(fs.path() / kIndexDirectory))
    if (file.path().extension() == ".sst" &&
        content_of(file.path()).find("name" + std::string(name_of(Family::kInodes))) != std::string::npos)
      tables.push_back(file.path());
  ASSERT_FALSE(tables.empty());
  for (const Path& table : tables) std::filesystem::remove(table);

  const auto folder = folder_at(fs.path());
  IndexRepair repair(folder, value_of(read_superblock(*folder)));
  ASSERT_TRUE(ok(repair.build({}, {}, report, log, no_progress, 1)));

  EXPECT_THAT(lost, ElementsAre(HasSubstr("are restored from")));
  const auto index = value_of(Database::open(folder_at(fs.path() / "index.repair"), {.read_only = true}));
  const auto holds = value_of(decode_holds(value_of(index->get(Family::kCounters, kHoldsCounter)).value()));
  EXPECT_EQ(holds, (std::map<TreeNumber, SnapshotHold>{{1, {.until_released = true}}}));
}

TEST_F(IndexRepairTest, TheSuperblockKnowsThatHoldsAreMissing) {
  ASSERT_TRUE(ok(add_read_only_feature(*folder_at(path), kHoldsFeature)));

  build();

  EXPECT_THAT(lost, testing::Contains(HasSubstr("the record of held snapshots is lost")));
}

}  // namespace
}  // namespace dedupfs
