#include "fs/check/fsck.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/coding.h"
#include "fs/damaged_volume.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "index/counters.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/fingerprint.h"
#include "store/format/format.h"
#include "store/sample_region.h"
#include "support/faulty_backing.h"
#include "support/table_blocks.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Mode = FsckOptions::Mode;

bool is_reported(const FsckReport& report, InodeNumber inode, std::uint64_t from, std::uint64_t to) {
  for (const LostFile& file : report.lost_files)
    for (const LostRange& range : file.ranges)
      if (file.inode == inode && range.offset < to && from < range.offset + range.length) return true;
  return false;
}

// What can be read is right, what cannot is what was reported, and nothing else differs.
void expect_same_but_for_lost(const VolumeTree& now, const VolumeTree& before, const FsckReport& report) {
  for (const auto& [path, entry] : before.entries) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(now.entries.contains(path));
    const VolumeTree::Entry& found = now.entries.at(path);
    EXPECT_EQ(found.inode, entry.inode);
    EXPECT_EQ(found.mode, entry.mode);
    EXPECT_EQ(found.links, entry.links);
    EXPECT_EQ(found.xattr, entry.xattr);
    ASSERT_EQ(found.content.size(), entry.content.size());
    for (std::size_t block = 0; block < found.unreadable.size(); ++block) {
      const std::size_t from = block * VolumeTree::kBlock;
      const std::size_t length = std::min(VolumeTree::kBlock, entry.content.size() - from);
      EXPECT_EQ(found.unreadable[block], is_reported(report, entry.inode, from, from + length)) << "at " << from;
      if (!found.unreadable[block]) {
        EXPECT_TRUE(found.content.compare(from, length, entry.content, from, length) == 0) << "at " << from;
      }
    }
  }
  EXPECT_EQ(now.entries.size(), before.entries.size());
}

// ---------------------------------------------------------------- what is not damaged

TEST(Fsck, HealthyVolumeIsCleanAndNoModeChangesAByteOfIt) {
  const DamagedVolume volume;
  const auto before = bytes_below(volume.path());

  for (const Mode mode : {Mode::kCheck, Mode::kSafe, Mode::kAll})
    for (const bool verify_data : {false, true}) {
      const FsckReport report = volume.fsck(mode, verify_data);
      EXPECT_THAT(report.lines, IsEmpty());
      EXPECT_EQ(report.exit_status(), 0);
      EXPECT_EQ(report.inodes, 9u);
      EXPECT_GT(report.references, 50u);
    }

  // The lock notes who has the volume while it is open, and then nobody.
  EXPECT_EQ(bytes_below(volume.path()), before);
}

TEST(Fsck, VolumeThatWasNeverMountedIsClean) {
  const TempDir directory;
  value_of(Volume::create(directory.path() / "new", VolumeSettings()));

  EXPECT_TRUE(value_of(run_fsck(directory.path() / "new", {.mode = Mode::kAll})).is_clean());
}

TEST(Fsck, VolumeInUseIsRefusedWithTheProcessThatHasIt) {
  const DamagedVolume volume;
  const auto user = volume.open(false);

  const auto report = run_fsck(volume.path(), {});

  ASSERT_TRUE(fails_with(ErrorCode::kBusy, report));
  EXPECT_THAT(report.error().message(), HasSubstr("process " + std::to_string(::getpid())));
}

// A crash of mkfs.dedupfs leaves it so, and a mount would make the other copy.
TEST(Fsck, ASuperblockWithoutItsCopyIsNoErrorAndGetsIt) {
  const DamagedVolume volume;
  std::filesystem::remove(volume.path() / kSuperblockCopyFile);

  EXPECT_EQ(volume.fsck(Mode::kCheck).exit_status(), 0);
  EXPECT_EQ(volume.fsck(Mode::kSafe).exit_status(), kFsckCorrected);
  EXPECT_TRUE(content_of(volume.path() / kSuperblockCopyFile) == content_of(volume.path() / kSuperblockFile));
}

// As if containers lay in a bucket that does not answer now.
TEST(Fsck, WhatCannotBeReadNowIsNoDamage) {
  const DamagedVolume volume;
  std::filesystem::path container;
  for (const auto& file : std::filesystem::directory_iterator(volume.path() / kContainersDirectory))
    container = file.path();
  const std::string content = content_of(container);
  overwrite(container, std::string(content.size(), '\0'));
  const auto before = bytes_below(volume.path() / kIndexDirectory);

  for (int reads_that_come : {0, 1}) {  // one: the check finds damage, and the repair cannot read
    int asked = 0;
    const auto report = run_fsck(volume.path(), {.mode = Mode::kAll, .all_was_read = [&]() -> Result<void> {
                                                   if (asked++ < 2 + reads_that_come) return {};
                                                   return Error{ErrorCode::kIo, "the store does not answer"};
                                                 }});

    ASSERT_TRUE(fails_with(ErrorCode::kIo, report));
    EXPECT_THAT(report.error().message(), HasSubstr("the store does not answer"));
    EXPECT_TRUE(bytes_below(volume.path() / kIndexDirectory) == before);
  }
}

// ---------------------------------------------------------------- damage and what becomes of it

enum class Outcome {
  kComplete,     // everything is back, and nothing was lost on the way: the safe mode does it, too
  kContentLost,  // every name is there, and what cannot be read is reported
};

struct Damage {
  std::string name;
  std::function<void(DamagedVolume&)> inflict;
  Outcome outcome = Outcome::kComplete;
};

void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.name;
}

std::function<void(DamagedVolume&)> remove_tables(const std::vector<Family>& families) {
  return [families](DamagedVolume& volume) {
    for (const Family family : families)
      for (const Path& table : volume.tables(family)) std::filesystem::remove(table);
  };
}

std::function<void(DamagedVolume&)> damage_table(Family family, double where) {
  return [=](DamagedVolume& volume) {
    const Path table = volume.tables(family).front();
    flip_bit(table, static_cast<std::uint64_t>(static_cast<double>(std::filesystem::file_size(table)) * where));
  };
}

ChunkExtent first_extent(const DamagedVolume& volume) {
  const KeyValue stored = volume.records(Family::kChunks).at(0);
  return value_of(decode_extent(stored.first, stored.second));
}

std::vector<Damage> damages() {
  std::vector<Damage> list = {
      {"all tables of chunks are gone", remove_tables({Family::kFingerprints, Family::kChunks, Family::kFeatureIndex})},
      {"tables of fingerprints are gone", remove_tables({Family::kFingerprints})},
      {"tables of features are gone", remove_tables({Family::kFeatureIndex})},
      {"tables of cookies are gone", remove_tables({Family::kCookies})},
      {"one of the tables of chunks is gone",
       [](DamagedVolume& volume) { std::filesystem::remove(volume.tables(Family::kChunks).back()); }},
      {"a bit of a table of chunks is flipped", damage_table(Family::kChunks, 0.01)},
      {"a bit of the metadata of a table of fingerprints is flipped", damage_table(Family::kFingerprints, 0.97)},
      {"CURRENT is gone", [](DamagedVolume& volume) { std::filesystem::remove(volume.index() / "CURRENT"); }},
      {"a record of chunks does not parse",
       [](DamagedVolume& volume) { volume.put(Family::kChunks, volume.records(Family::kChunks)[0].first, "\xff"); }},
      {"a run of chunks is gone",
       [](DamagedVolume& volume) { volume.erase(Family::kChunks, volume.records(Family::kChunks)[0].first); }},
      {"a run of chunks leads elsewhere",
       [](DamagedVolume& volume) {
         ChunkExtent extent = first_extent(volume);
         extent.place.offset += 8;
         volume.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
       }},
      {"a fingerprint leads to another chunk",
       [](DamagedVolume& volume) {
         const auto known = volume.records(Family::kFingerprints);
         volume.put(Family::kFingerprints, known[0].first, known[1].second);
       }},
      {"the counters of chunks and containers went back",
       [](DamagedVolume& volume) {
         std::string one;
         Encoder(one).u64(1);
         volume.put(Family::kCounters, std::string(kNextChunkIdCounter), one);
         volume.put(Family::kCounters, std::string(kNextContainerCounter), one);
       }},
      {"the counter of inodes went back",
       [](DamagedVolume& volume) { volume.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(2)); }},
      {"the superblock is cut off", [](DamagedVolume& volume) { overwrite(volume.path() / kSuperblockFile, "{"); }},
      {"the header of a container is damaged", [](DamagedVolume& volume) { flip_bit(volume.container(1), 20); }},
      {"the header of a region is damaged",
       [](DamagedVolume& volume) { flip_bit(volume.container(2), kContainerHeaderBytes + 20); }, Outcome::kContentLost},
      {"the directory of a region is damaged",
       [](DamagedVolume& volume) { flip_bit(volume.container(2), kContainerHeaderBytes + kRegionHeaderBytes + 9); },
       Outcome::kContentLost},
      {"the payload of a region is damaged", [](DamagedVolume& volume) { flip_bit(volume.container(2), 100'000); },
       Outcome::kContentLost},
      {"bases of deltas are damaged", [](DamagedVolume& volume) { flip_bit(volume.container(1), 100'000); },
       Outcome::kContentLost},
      {"a container is gone", [](DamagedVolume& volume) { std::filesystem::remove(volume.container(2)); },
       Outcome::kContentLost},
      {"a container is cut off in the middle",
       [](DamagedVolume& volume) { std::filesystem::resize_file(volume.container(1), 150'000); },
       Outcome::kContentLost},
  };
  return list;
}

class FsckRepairs : public testing::TestWithParam<Damage> {};

TEST_P(FsckRepairs, WhatCanBeHadAndSaysWhatCannot) {
  DamagedVolume volume;
  GetParam().inflict(volume);
  const bool is_complete = GetParam().outcome == Outcome::kComplete;

  const FsckReport before = volume.fsck(Mode::kCheck);
  EXPECT_EQ(before.exit_status(), kFsckErrorsLeft);

  const FsckReport repaired = volume.fsck(is_complete ? Mode::kSafe : Mode::kAll);
  EXPECT_EQ(repaired.exit_status(), is_complete ? kFsckCorrected : kFsckCorrected | kFsckErrorsLeft)
      << testing::PrintToString(repaired.lines);
  EXPECT_EQ(repaired.lost_files.empty(), is_complete);
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), repaired);
  if (is_complete) {
    EXPECT_FALSE(std::filesystem::exists(volume.path() / "index.damaged"));
  }

  const FsckReport checked = volume.fsck(Mode::kCheck);
  EXPECT_EQ(checked.errors_left, 0u) << testing::PrintToString(checked.lines);
  EXPECT_EQ(checked.lost_files.empty(), is_complete);
  const auto bytes = bytes_below(volume.path());
  const FsckReport again = volume.fsck(Mode::kAll);
  EXPECT_EQ(again.repairs, 0u) << testing::PrintToString(again.lines);
  EXPECT_EQ(bytes_below(volume.path()), bytes);
}

std::string name_of_test(const testing::TestParamInfo<Damage>& tested) {
  std::string name = tested.param.name;
  std::erase_if(name, [](char c) { return c == '\'' || c == ','; });
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, FsckRepairs, testing::ValuesIn(damages()), name_of_test);

// ---------------------------------------------------------------- names and attributes

// Those of `tables` are gone. Each chunk is there still, so everything that has a name reads as before.
FsckReport repair_without(DamagedVolume& volume, const std::vector<Path>& files) {
  for (const Path& file : files) std::filesystem::remove(file);
  FsckReport report = volume.fsck(Mode::kAll);
  EXPECT_EQ(volume.fsck(Mode::kCheck).errors_left, 0u);
  EXPECT_EQ(volume.fsck(Mode::kAll).repairs, 0u);
  return report;
}

TEST(Fsck, WithoutAManifestWhatTheTablesHoldIsBack) {
  DamagedVolume volume;

  const FsckReport report = repair_without(volume, volume.files_of_index("MANIFEST"));

  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
  EXPECT_THAT(report.lines, Contains(HasSubstr("some of it may be outdated")));
  EXPECT_TRUE(std::filesystem::exists(volume.path() / "index.damaged"));
}

// RocksDB would end the process that reads it.
TEST(Fsck, ATableThatDoesHarmIsNamedAndLeftOutAndTheRestIsKept) {
  DamagedVolume volume;
  const Path table = volume.tables(Family::kFingerprints).front();
  std::string bytes = content_of(table);
  make_harmful(bytes);
  overwrite(table, bytes);

  const FsckReport checked = volume.fsck(Mode::kCheck);
  EXPECT_THAT(checked.lines, Contains(AllOf(StartsWith("error: " + table.string()), HasSubstr("made to do harm"))));
  EXPECT_EQ(checked.exit_status(), kFsckErrorsLeft);

  const FsckReport repaired = volume.fsck(Mode::kSafe);
  EXPECT_EQ(repaired.exit_status(), kFsckCorrected) << testing::PrintToString(repaired.lines);
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), repaired);
  EXPECT_EQ(volume.fsck(Mode::kCheck).errors_left, 0u);
}

TEST(Fsck, ATableThatDoesHarmIsLeftOutWithoutAManifest) {
  DamagedVolume volume;
  for (const Path& file : volume.files_of_index("MANIFEST")) std::filesystem::remove(file);
  for (const Path& table : volume.tables(Family::kCookies)) {
    std::string bytes = content_of(table);
    make_harmful(bytes);
    overwrite(table, bytes);
  }

  const FsckReport repaired = volume.fsck(Mode::kAll);

  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), repaired);
  EXPECT_EQ(volume.fsck(Mode::kCheck).errors_left, 0u);
}

TEST(Fsck, AForeignVolumeWithATableThatDoesHarmIsNotOpened) {
  DamagedVolume volume;
  const Path table = volume.tables(Family::kDirents).back();
  std::string bytes = content_of(table);
  make_harmful(bytes);
  overwrite(table, bytes);

  const auto opened = Volume::open(volume.path(), {.foreign = true});

  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, opened));
  EXPECT_THAT(opened.error().message(), AllOf(HasSubstr(table.string()), HasSubstr("fsck.dedupfs -y")));
}

TEST(Fsck, NamesThatAreLostComeBackFromTheOrderOfTheirDirectories) {
  DamagedVolume volume;

  const FsckReport report = repair_without(volume, volume.tables(Family::kDirents));

  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
}

TEST(Fsck, WithoutInodesDirectoriesAndContentAreBackAndEmptyThingsAreNot) {
  DamagedVolume volume;

  repair_without(volume, volume.tables(Family::kInodes));

  const VolumeTree tree = volume.tree();
  const auto& whole = DamagedVolume::tree_when_whole().entries;
  for (const std::string path : {"/folder/one", "/folder/below/two", "/three", "/tiny"}) {
    ASSERT_TRUE(tree.entries.contains(path)) << path;
    EXPECT_TRUE(tree.entries.at(path).content == whole.at(path).content) << path;
  }
  EXPECT_EQ(tree.entries.at("/second name of one").inode, tree.entries.at("/folder/one").inode);
  EXPECT_FALSE(tree.entries.contains("/link"));
}

TEST(Fsck, WithoutRecipesFilesAreThereAndAllOfTheirContentIsReportedLost) {
  DamagedVolume volume;

  const FsckReport report = repair_without(volume, volume.tables(Family::kRecipes));

  EXPECT_EQ(report.lost_files.size(), 5u);
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
}

TEST(Fsck, WithoutAnIndexAndWithoutACheckpointTheVolumeIsEmptyAndItsChunksAreKept) {
  DamagedVolume volume;
  std::filesystem::remove_all(volume.index());
  EXPECT_THAT(Volume::open(volume.path(), {}).error().message(), HasSubstr("fsck.dedupfs -y"));

  EXPECT_EQ(volume.fsck(Mode::kSafe).exit_status(), kFsckErrorsLeft);
  EXPECT_FALSE(std::filesystem::exists(volume.index()));
  const FsckReport report = volume.fsck(Mode::kAll);

  EXPECT_THAT(report.lines, Contains(AllOf(StartsWith("lost: "), HasSubstr("the volume is empty"))));
  EXPECT_THAT(volume.tree().entries, IsEmpty());
  EXPECT_GT(report.chunks, 50u);
}

TEST(Fsck, WithoutAnIndexEverythingOfTheCheckpointIsBack) {
  DamagedVolume volume;
  volume.take_checkpoint();
  std::filesystem::remove_all(volume.index());

  const FsckReport report = volume.fsck(Mode::kAll);

  EXPECT_THAT(report.lines, Contains(AllOf(StartsWith("lost: "), HasSubstr("0000000001.checkpoint"))));
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
  EXPECT_EQ(volume.fsck(Mode::kAll).repairs, 0u);
}

TEST(Fsck, ADamagedCheckpointIsNamedAndTheOneBeforeItIsTaken) {
  DamagedVolume volume;
  volume.take_checkpoint();
  volume.take_checkpoint();
  const Path newest = volume.path() / kCheckpointsDirectory / "0000000002.checkpoint";
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) - 1);
  std::filesystem::remove_all(volume.index());

  const FsckReport report = volume.fsck(Mode::kAll);

  EXPECT_THAT(report.lines, Contains(AllOf(StartsWith("note: "), HasSubstr(newest.string()))));
  EXPECT_THAT(report.lines, Contains(AllOf(StartsWith("lost: "), HasSubstr("0000000001.checkpoint"))));
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
}

TEST(Fsck, IndexOfAnotherVolumeIsNotTouched) {
  DamagedVolume volume;
  volume.put(Family::kCounters, std::string(kVolumeUuidCounter), "01234567-89ab-4cde-8f01-23456789abcd");
  const auto before = bytes_below(volume.path());

  FsckOptions options;
  options.mode = Mode::kAll;
  const auto report = run_fsck(volume.path(), options);

  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, report));
  EXPECT_THAT(report.error().message(), HasSubstr("belongs to another volume"));
  EXPECT_EQ(bytes_below(volume.path()), before);
}

// The log is not empty after a crash only.
TEST(Fsck, BehindDamageInTheLogTheStateBeforeItIsKept) {
  TestFilesystem filesystem;
  // A commit is larger than a block of the log, the unit in which RocksDB gives up.
  const auto make_files = [&](const std::string& name) {
    for (int i = 0; i < 100; ++i) filesystem.make_file(kRootInode, name + std::to_string(i), noise(500, name.size()));
  };
  make_files("kept");
  ASSERT_TRUE(ok(filesystem->sync()));
  const auto logs = [](const Path& index) {
    std::vector<Path> found;
    for (const auto& file : std::filesystem::directory_iterator(index))
      if (file.path().extension() == ".log" && file.file_size() != 0) found.push_back(file.path());
    return found;
  };
  const std::uint64_t first_commit = std::filesystem::file_size(logs(filesystem.path() / kIndexDirectory).at(0));
  for (const std::string name : {"damaged", "behind it"}) {
    make_files(name);
    ASSERT_TRUE(ok(filesystem->sync()));
  }
  const TempDir directory;
  const Path copy = directory.path() / "copy";
  crash_copy(filesystem.path(), copy);
  flip_bit(logs(copy / kIndexDirectory).at(0), first_commit + 200);
  FsckOptions options;
  options.mode = Mode::kSafe;
  EXPECT_EQ(value_of(run_fsck(copy, options)).exit_status(), kFsckErrorsLeft);

  options.mode = Mode::kAll;
  const FsckReport report = value_of(run_fsck(copy, options));

  EXPECT_EQ(report.exit_status(), kFsckCorrected) << testing::PrintToString(report.lines);
  EXPECT_TRUE(std::filesystem::exists(copy / "index.damaged"));
  auto repaired = value_of(Filesystem::open(value_of(Volume::open(copy, {.threads = 1})), TestFilesystem::quiet()));
  const VolumeTree tree = VolumeTree::of(*repaired);
  EXPECT_EQ(tree.entries.size(), 100u);
  EXPECT_TRUE(tree.entries.at("/kept7").content == noise(500, 4));
  EXPECT_TRUE(ok(repaired->close()));
}

// ---------------------------------------------------------------- interruption

TEST(Fsck, RepairThatFailsAnywhereOrIsInterruptedChangesNothingAndCanBeDoneAgain) {
  for (int calls = 0;; ++calls) {
    DamagedVolume volume;
    remove_tables({Family::kChunks})(volume);
    const auto before = bytes_below(volume.index());
    FsckOptions options;
    options.mode = Mode::kAll;
    options.progress = [left = calls](int, std::uint64_t, std::uint64_t) mutable -> Result<void> {
      if (left-- == 0) return Error{ErrorCode::kInterrupted, "cancelled"};
      return {};
    };

    const auto interrupted = run_fsck(volume.path(), options);

    if (interrupted) break;
    ASSERT_TRUE(fails_with(ErrorCode::kInterrupted, interrupted));
    const bool was_swapped = std::filesystem::exists(volume.path() / "index.damaged");
    if (!was_swapped) {
      EXPECT_EQ(bytes_below(volume.index()), before);
    }
    EXPECT_FALSE(std::filesystem::exists(volume.path() / "index.repair"));
    const FsckReport report = volume.fsck(Mode::kAll);
    expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
    calls += calls / 4;
  }
}

// As a power cut leaves it between the steps of the swap.
TEST(Fsck, SwapThatWasCutOffIsFinishedOrBegunAgain) {
  for (int steps_done = 0; steps_done < 3; ++steps_done) {
    SCOPED_TRACE(steps_done);
    DamagedVolume volume;
    remove_tables({Family::kChunks})(volume);
    const auto backing = std::make_shared<FaultyBacking>();
    int steps = 0;  // of the swap, which begins with a name for the old index
    backing->fault = [&](const std::string& operation, const Path& path) -> std::optional<Error> {
      if (operation != "rename" && operation != "sync_directory") return std::nullopt;
      if (steps == 0 && path.filename() != "index.damaged") return std::nullopt;
      if (steps++ < steps_done) return std::nullopt;
      return Error{ErrorCode::kIo, "the power is cut"};
    };
    FsckOptions options;
    options.mode = Mode::kAll;
    EXPECT_FALSE(run_fsck(volume.path(), options, backing));
    ASSERT_EQ(steps, steps_done + 1);
    const auto opened = Volume::open(volume.path(), {});
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), HasSubstr("fsck.dedupfs -y"));

    EXPECT_THAT(volume.fsck(Mode::kCheck).lines, Contains(HasSubstr("a repair was interrupted")));
    const FsckReport report = volume.fsck(Mode::kAll);

    EXPECT_EQ(report.exit_status(), kFsckCorrected);
    expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
    EXPECT_FALSE(std::filesystem::exists(volume.path() / "index.repair"));
    EXPECT_EQ(volume.fsck(Mode::kAll).repairs, 0u);
  }
}

// ---------------------------------------------------------------- containers

TEST(Fsck, TornTailIsCutOffOnlyWhenEverythingMayBeRepaired) {
  DamagedVolume volume;
  const std::string sealed = content_of(volume.container(3));
  const std::string unsealed = sealed.substr(0, sealed.size() - kContainerTrailerBytes);
  overwrite(volume.container(3), unsealed + std::string(5000, 'x'));

  EXPECT_EQ(volume.fsck(Mode::kCheck).exit_status(), 0);
  EXPECT_EQ(volume.fsck(Mode::kSafe).repairs, 0u);
  const FsckReport report = volume.fsck(Mode::kAll);

  EXPECT_THAT(report.lines, Contains(HasSubstr("5000 bytes of an interrupted write are cut off")));
  EXPECT_TRUE(content_of(volume.container(3)) == unsealed);
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
}

// [header][a damaged region that nothing refers to][one that the index refers to][torn tail]
TEST(Fsck, TornTailBeginsBehindTheLastRegionThatAnythingRefersTo) {
  DamagedVolume volume;
  const std::string sealed = content_of(volume.container(3));
  const std::string garbage(5000, 'g');
  const std::string unsealed =
      sealed.substr(0, kContainerHeaderBytes) + garbage +
      sealed.substr(kContainerHeaderBytes, sealed.size() - kContainerHeaderBytes - kContainerTrailerBytes);
  overwrite(volume.container(3), unsealed + std::string(5000, 'x'));
  for (const auto& [key, value] : volume.records(Family::kChunks)) {
    ChunkExtent extent = value_of(decode_extent(key, value));
    if (extent.place.container != 3) continue;
    extent.place.offset += static_cast<std::uint32_t>(garbage.size());
    volume.put(Family::kChunks, key, encode_extent(extent));
  }
  ASSERT_EQ(volume.fsck(Mode::kCheck).exit_status(), 0);

  const FsckReport report = volume.fsck(Mode::kAll);

  EXPECT_TRUE(content_of(volume.container(3)) == unsealed);
  expect_same_but_for_lost(volume.tree(), DamagedVolume::tree_when_whole(), report);
}

class FsckKeepsWhatHeals : public testing::TestWithParam<Damage> {};

TEST_P(FsckKeepsWhatHeals, AndTheSameContentWrittenAgainMakesEverythingWhole) {
  DamagedVolume volume;
  GetParam().inflict(volume);
  EXPECT_EQ(volume.fsck(Mode::kAll).exit_status(), kFsckErrorsLeft | kFsckCorrected);
  EXPECT_EQ(volume.fsck(Mode::kAll).repairs, 0u) << "there is nothing more to repair";
  const VolumeTree& whole = DamagedVolume::tree_when_whole();

  auto filesystem = value_of(Filesystem::open(volume.open(false), TestFilesystem::quiet()));
  const auto copy_of = [](const VolumeTree::Entry& entry) { return "copy of " + std::to_string(entry.inode); };
  for (const auto& [path, entry] : whole.entries) {
    if (!is_regular(entry.mode)) continue;
    const InodeNumber copy =
        value_of(filesystem->create(kRootInode, path.substr(1, 1) + copy_of(entry), 0644, {})).inode;
    ASSERT_TRUE(ok(filesystem->write(copy, 0, bytes_of(entry.content), {}, nullptr)));
  }
  ASSERT_TRUE(ok(filesystem->sync()));

  const VolumeTree tree = VolumeTree::of(*filesystem);
  for (const auto& [path, entry] : tree.entries) EXPECT_THAT(entry.unreadable, Not(Contains(true))) << path;
  for (const auto& [path, entry] : whole.entries) EXPECT_TRUE(tree.entries.at(path).content == entry.content) << path;
  ASSERT_TRUE(ok(filesystem->close()));
  filesystem.reset();
  EXPECT_EQ(volume.fsck(Mode::kCheck).exit_status(), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, FsckKeepsWhatHeals,
                         testing::Values(Damage{"a bit of bases of deltas is flipped",
                                                [](DamagedVolume& volume) { flip_bit(volume.container(1), 100'000); }},
                                         Damage{"the same, and the index of chunks is gone",
                                                [](DamagedVolume& volume) {
                                                  flip_bit(volume.container(1), 100'000);
                                                  remove_tables({Family::kFingerprints, Family::kChunks})(volume);
                                                }},
                                         Damage{"a container is gone",
                                                [](DamagedVolume& volume) {
                                                  std::filesystem::remove(volume.container(1));
                                                }}),
                         name_of_test);

// A chunk with right checksums and wrong bytes: whatever modes follow one another, nobody gets these bytes for others.
TEST(Fsck, AChunkThatIsNotWhatItsFingerprintSaysIsNeverTakenForThatContent) {
  DamagedVolume volume;
  const std::string content = noise(100, 77);
  SampleRegion forged;
  forged.add(100'000, random_bytes(100, 1));
  forged.entries[0].fingerprint = fingerprint_of(bytes_of(content));
  {
    const auto opened = volume.open(false);
    const std::string encoded = forged.encode(Compression::none());
    const ChunkExtent extent{.first = ChunkId{100'000},
                             .place = value_of(opened->containers().append(bytes_of(encoded))),
                             .region_disk_bytes = static_cast<std::uint32_t>(encoded.size()),
                             .region_payload_bytes = 100,
                             .chunks = {{.raw_length = 100}}};
    ASSERT_TRUE(ok(opened->containers().sync()));
    std::string next_chunk_id;
    Encoder(next_chunk_id).u64(100'001);
    std::string next_container;
    Encoder(next_container).u64(opened->containers().next_container());
    Database::Batch batch(opened->database());
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
    batch.put(Family::kFingerprints, text_of(forged.entries[0].fingerprint.bytes), encode_chunk_id(extent.first));
    batch.put(Family::kCounters, kNextChunkIdCounter, next_chunk_id);
    batch.put(Family::kCounters, kNextContainerCounter, next_container);
    ASSERT_TRUE(ok(opened->database().write(batch)));
  }

  EXPECT_EQ(volume.fsck(Mode::kAll, true).exit_status(), kFsckCorrected);
  EXPECT_EQ(volume.fsck(Mode::kSafe, false).exit_status(), 0);
  for (int mount = 0; mount < 2; ++mount) {
    auto filesystem = value_of(Filesystem::open(volume.open(false), TestFilesystem::quiet()));
    const InodeNumber file = value_of(filesystem->create(kRootInode, "file " + std::to_string(mount), 0644, {})).inode;
    ASSERT_TRUE(ok(filesystem->write(file, 0, bytes_of(content), {}, nullptr)));
    ASSERT_TRUE(ok(filesystem->sync()));
    EXPECT_TRUE(VolumeTree::of(*filesystem).entries.at("/file " + std::to_string(mount)).content == content);
    ASSERT_TRUE(ok(filesystem->close()));
  }
  EXPECT_EQ(volume.fsck(Mode::kCheck).exit_status(), 0);
}

// ---------------------------------------------------------------- report

TEST(Fsck, ReportNamesEveryPathOfAFileThatLostSomethingInTextAndJson) {
  DamagedVolume volume;
  std::filesystem::remove(volume.container(1));

  const FsckReport report = volume.fsck(Mode::kAll);

  const auto lost =
      std::ranges::find_if(report.lost_files, [](const LostFile& file) { return file.paths.size() == 2; });
  ASSERT_NE(lost, report.lost_files.end());
  EXPECT_THAT(lost->paths, ElementsAre("/folder/one", "/second name of one"));
  EXPECT_EQ(lost->lost_bytes(), 300'000u);
  ASSERT_EQ(lost->ranges.size(), 1u);
  EXPECT_EQ(lost->ranges[0].offset, 0u);
  EXPECT_THAT(lost->ranges[0].why, HasSubstr("is missing"));
  EXPECT_THAT(report.lines, Contains(AllOf(StartsWith("lost: /folder/one "), HasSubstr("300000 bytes"))));
  EXPECT_THAT(summary_of(report, volume.path()), HasSubstr("files have lost"));
  const auto json = to_json(report, volume.path());
  EXPECT_EQ(json["exit_status"], report.exit_status());
  EXPECT_EQ(json["lost_files"].size(), report.lost_files.size());
  EXPECT_EQ(json["lost_files"][0]["ranges"][0]["length"], report.lost_files[0].ranges[0].length);
  EXPECT_EQ(json["totals"]["inodes"], report.inodes);
}

TEST(Fsck, WithoutVerifyingDataADamagedPayloadIsNotLookedFor) {
  DamagedVolume volume;
  flip_bit(volume.container(2), 100'000);

  EXPECT_EQ(volume.fsck(Mode::kCheck, false).exit_status(), 0);
  EXPECT_EQ(volume.fsck(Mode::kCheck, true).exit_status(), kFsckErrorsLeft);
}

}  // namespace
}  // namespace dedupfs
