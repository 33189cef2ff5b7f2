#include "store/volume/volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <utility>

#include "store/chunks/damage_record.h"
#include "store/chunks/dropped_bytes.h"
#include "store/format/superblock_features.h"
#include "store/ingest/chunk_writer.h"
#include "support/faulty_backing.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Everything works until `operations_left` is used up, then nothing does but to remove files.
std::shared_ptr<FaultyBacking> backing_that_fails_after(std::atomic<int>& operations_left) {
  auto backing = std::make_shared<FaultyBacking>();
  backing->fault = [&](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (--operations_left >= 0 || operation == "unlink") return std::nullopt;
    return Error{ErrorCode::kIo, operation + " of " + path.string() + " was told to fail"};
  };
  return backing;
}

std::vector<ChunkId> put(Volume& volume, const std::string& bytes) {
  const auto writer = volume.chunks().open_writer();
  std::promise<Result<std::vector<ChunkId>>> promise;
  writer->put(
      {.owner = nullptr, .chunks = {bytes_of(bytes)}, .done = [&](auto ids) { promise.set_value(std::move(ids)); }});
  auto ids = promise.get_future().get();
  EXPECT_TRUE(ids) << ids.error().message();
  return ids ? *ids : std::vector<ChunkId>();
}

Result<std::string> get(Volume& volume, ChunkId id) {
  DEDUPFS_ASSIGN(const auto chunk, volume.chunks().get(id));
  return std::string(text_of(chunk.bytes));
}

std::optional<std::string> get(Volume& volume, std::string_view key) {
  return volume.metadata().get(Family::kInodes, key).value();
}

void write_file(const Path& path, const std::string& content) {
  std::ofstream(path) << content;
}

std::map<std::string, fs::file_time_type> listing(const Path& path) {
  std::map<std::string, fs::file_time_type> files;
  for (const auto& file : fs::recursive_directory_iterator(path))
    files[file.path().lexically_relative(path)] = file.last_write_time();
  return files;
}

class VolumeTest : public testing::Test {
 protected:
  Superblock create() {
    auto created = Volume::create(path(), {});
    EXPECT_TRUE(created) << created.error().message();
    return created.value();
  }
  std::unique_ptr<Volume> open(const VolumeOptions& options = {}) { return open_at(path(), options); }
  std::unique_ptr<Volume> open_at(const Path& path, const VolumeOptions& options = {}) {
    auto opened = Volume::open(path, options);
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? std::move(*opened) : nullptr;
  }
  Error failure_to_open(const VolumeOptions& options = {}) {
    const auto opened = Volume::open(path(), options);
    EXPECT_FALSE(opened);
    return opened ? Error{ErrorCode::kInvalidArgument, "it opened"} : opened.error();
  }
  // What a crash now would leave.
  Path crash() const {
    fs::remove_all(directory_.path() / "crashed");
    fs::copy(path(), directory_.path() / "crashed", fs::copy_options::recursive);
    return directory_.path() / "crashed";
  }

  Path path() const { return directory_.path() / "volume"; }

  inline static const VolumeOptions kReadOnly{.read_only = true};
  TempDir directory_;
};

// ---------------------------------------------------------------- create

TEST_F(VolumeTest, IsCreatedInAMissingFolder) {
  const Superblock superblock = create();

  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  const auto volume = open();
  EXPECT_EQ(volume->superblock().uuid, superblock.uuid);
  EXPECT_EQ(volume->chunker().spec(), superblock.chunker);
}

// Builds from before deltas must not open what may hold some.
TEST_F(VolumeTest, WithDeltasNamesTheFeatureAndWithoutDoesNot) {
  EXPECT_EQ(create().incompatible_features, std::vector<std::string>{"delta"});
  EXPECT_EQ(open()->superblock().delta, *parse_delta_settings(kDefaultDeltaSettings));
  fs::remove_all(path());
  VolumeSettings settings;
  settings.delta = DeltaSettings{};
  ASSERT_TRUE(Volume::create(path(), settings));

  const auto volume = open();

  EXPECT_TRUE(volume->superblock().incompatible_features.empty());
  EXPECT_FALSE(volume->superblock().delta.enabled());
}

TEST_F(VolumeTest, IsCreatedInAnEmptyFolder) {
  fs::create_directory(path());

  create();

  EXPECT_NE(open(), nullptr);
}

TEST_F(VolumeTest, TakesLittleSpaceWhenNew) {
  create();

  std::uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(path())) {
    struct stat status {};
    ASSERT_EQ(::lstat(file.path().c_str(), &status), 0);
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  EXPECT_LT(bytes, 300u << 10);
}

TEST_F(VolumeTest, IsNotCreatedAmongOtherFiles) {
  fs::create_directory(path());
  for (const auto* name : {"a", "b", "c"}) write_file(path() / name, "mine");

  const auto created = Volume::create(path(), {});

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), ErrorCode::kNotEmpty);
  EXPECT_THAT(created.error().message(), HasSubstr("'a', 'b' and 1 more; choose an empty folder"));
  EXPECT_EQ(listing(path()).size(), 3u);
}

TEST_F(VolumeTest, IsNotCreatedOverAVolume) {
  const Superblock first = create();

  const auto again = Volume::create(path(), {});

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kExists);
  EXPECT_EQ(open()->superblock().uuid, first.uuid);
}

TEST_F(VolumeTest, IsNotCreatedInAFile) {
  write_file(path(), "mine");

  const auto created = Volume::create(path(), {});

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), ErrorCode::kNotDirectory);
}

TEST_F(VolumeTest, IsNotCreatedWithAnUnknownChunker) {
  const auto created = Volume::create(path(), {.chunker = "scissors"});

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(VolumeTest, FailedCreationLeavesNothing) {
  std::atomic<int> operations_left;
  const auto backing = backing_that_fails_after(operations_left);
  int failures = 0;
  for (;; failures += failures < 20 ? 1 : 9) {  // the fault sweep of tests/crash takes each
    ASSERT_LT(failures, 1000);
    operations_left = failures;
    if (Volume::create(path(), {}, backing)) break;
    ASSERT_FALSE(fs::exists(path())) << "after " << failures << " operations";
  }

  EXPECT_GT(failures, 5);
  EXPECT_NE(open(), nullptr);
}

TEST_F(VolumeTest, InterruptedCreationIsNoVolumeAndSaysWhatToDo) {
  create();
  fs::remove(path() / kSuperblockFile);
  fs::remove(path() / kSuperblockCopyFile);

  EXPECT_EQ(failure_to_open().code(), ErrorCode::kNotFound);
  const auto again = Volume::create(path(), {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kNotEmpty);
  EXPECT_THAT(again.error().message(), HasSubstr("interrupted"));
}

// ---------------------------------------------------------------- open

TEST_F(VolumeTest, ACopyOfTheSuperblockThatACrashLeftOutIsMadeAgain) {
  create();
  const std::string whole = read_file(*folder_at(path()), kSuperblockFile, 1 << 20).value();
  for (const auto missing : {kSuperblockFile, kSuperblockCopyFile}) {
    fs::remove(path() / missing);

    EXPECT_NE(open(), nullptr);

    EXPECT_EQ(read_file(*folder_at(path()), missing, 1 << 20).value(), whole) << missing;
  }
}

TEST_F(VolumeTest, WhatIsNoVolumeIsNotOpened) {
  EXPECT_EQ(failure_to_open().code(), ErrorCode::kNotFound);
  fs::create_directory(path());
  EXPECT_EQ(failure_to_open().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(fs::is_empty(path()));
}

TEST_F(VolumeTest, HasOneWriter) {
  create();
  auto writer = open();

  for (const bool read_only : {false, true}) {
    const Error error = failure_to_open({.read_only = read_only});
    EXPECT_EQ(error.code(), ErrorCode::kBusy);
    EXPECT_THAT(error.message(), HasSubstr("process " + std::to_string(::getpid())));
  }
  writer.reset();

  EXPECT_NE(open(), nullptr);
}

TEST_F(VolumeTest, WhatAnotherChangedBeforeTheLockWasTakenIsKnown) {
  create();
  const auto backing = std::make_shared<FaultyBacking>();
  backing->fault = [this, is_first = true](const std::string& operation,
                                           const Path& path) mutable -> std::optional<Error> {
    if (operation == "truncate" && path.filename() == kLockFile && std::exchange(is_first, false)) {
      EXPECT_TRUE(add_incompatible_feature(*folder_at(this->path()), kEvictionFeature));
    }
    return std::nullopt;
  };

  const auto volume = Volume::open(path(), {.index_memory_bytes = Database::kMinMemoryBytes}, backing);

  ASSERT_TRUE(volume) << volume.error().message();
  EXPECT_THAT((*volume)->superblock().incompatible_features, testing::Contains(kEvictionFeature));
}

TEST_F(VolumeTest, HasManyReadersAndNoWriterBesideThem) {
  create();
  const auto one = open(kReadOnly);
  const auto other = open(kReadOnly);

  const Error error = failure_to_open();

  EXPECT_EQ(error.code(), ErrorCode::kBusy);
  EXPECT_THAT(error.message(), HasSubstr("another process"));
}

TEST_F(VolumeTest, LockLeftByAKilledProcessDoesNotMatter) {
  create();
  write_file(path() / kLockFile, "1\n");

  EXPECT_NE(open(), nullptr);
}

TEST_F(VolumeTest, LockIsNotFollowedElsewhere) {
  create();
  write_file(directory_.path() / "mine", "mine");
  fs::remove(path() / kLockFile);
  fs::create_symlink(directory_.path() / "mine", path() / kLockFile);

  EXPECT_EQ(failure_to_open().code(), ErrorCode::kCorruption);
  EXPECT_EQ(fs::file_size(directory_.path() / "mine"), 4u);
}

TEST_F(VolumeTest, ReadOnlyWritesNothing) {
  create();
  fs::remove(path() / kLockFile);  // even that is not made
  const auto before = listing(path());

  open(kReadOnly).reset();

  EXPECT_EQ(listing(path()), before);
}

TEST_F(VolumeTest, MissingPartsAreNamed) {
  create();
  for (const auto part : {kIndexDirectory, kContainersDirectory}) {
    fs::rename(path() / part, directory_.path() / "aside");

    for (const bool read_only : {false, true}) {
      const Error error = failure_to_open({.read_only = read_only});
      EXPECT_EQ(error.code(), ErrorCode::kCorruption);
      EXPECT_THAT(error.message(), HasSubstr((path() / part).string() + " is missing"));
    }

    EXPECT_FALSE(fs::exists(path() / part));
    fs::rename(directory_.path() / "aside", path() / part);
  }
}

TEST_F(VolumeTest, EmptyIndexFolderIsMissingToo) {
  create();
  fs::remove_all(path() / kIndexDirectory);
  fs::create_directory(path() / kIndexDirectory);

  EXPECT_EQ(failure_to_open().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(fs::is_empty(path() / kIndexDirectory));
}

TEST_F(VolumeTest, IndexOfAnotherVolumeIsRefused) {
  create();
  ASSERT_TRUE(Volume::create(directory_.path() / "other", {}));
  fs::remove_all(path() / kIndexDirectory);
  fs::rename(directory_.path() / "other" / kIndexDirectory, path() / kIndexDirectory);

  const Error error = failure_to_open();

  EXPECT_EQ(error.code(), ErrorCode::kCorruption);
  EXPECT_THAT(error.message(), HasSubstr("belongs to another volume"));
}

TEST_F(VolumeTest, UnknownReadOnlyFeatureAllowsReading) {
  Superblock superblock = create();
  superblock.read_only_features = {"time-travel"};
  ASSERT_TRUE(write_superblock(*folder_at(path()), superblock));

  const Error error = failure_to_open();

  EXPECT_EQ(error.code(), ErrorCode::kVersion);
  EXPECT_THAT(error.message(), HasSubstr("time-travel"));
  EXPECT_NE(open(kReadOnly), nullptr);
}

TEST_F(VolumeTest, ChunkerThatThisBuildLacksIsRefusedByName) {
  Superblock superblock = create();
  superblock.chunker = "scissors:avg=8k";
  ASSERT_TRUE(write_superblock(*folder_at(path()), superblock));

  const Error error = failure_to_open();

  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("'scissors:avg=8k'"));
  EXPECT_THAT(error.message(), HasSubstr("take the dedupfs that made the volume, or a newer one"));
}

TEST_F(VolumeTest, WrongInstructionSetInTheEnvironmentIsNotTheVolumesFault) {
  create();
  ::setenv("DEDUPFS_ISA", "abacus", 1);
  const Error error = failure_to_open();
  ::unsetenv("DEDUPFS_ISA");

  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("DEDUPFS_ISA"));
}

// ---------------------------------------------------------------- commit

TEST_F(VolumeTest, CommittedGroupSurvivesACrash) {
  create();
  const auto volume = open();
  const auto ids = put(*volume, "a chunk");
  volume->metadata().put(Family::kInodes, "key", "value");

  volume->freeze();
  const auto committed = volume->commit();
  ASSERT_TRUE(committed) << committed.error().message();

  for (const bool read_only : {true, false}) {
    const auto recovered = open_at(crash(), {.read_only = read_only});
    EXPECT_EQ(get(*recovered, ids.at(0)).value(), "a chunk");
    EXPECT_EQ(get(*recovered, "key"), "value");
  }
}

TEST_F(VolumeTest, CrashGoesBackToTheLastCommit) {
  create();
  const auto volume = open();
  volume->metadata().put(Family::kInodes, "key", "committed");
  volume->freeze();
  ASSERT_TRUE(volume->commit());

  put(*volume, "a chunk");
  volume->metadata().put(Family::kInodes, "key", "frozen");
  volume->freeze();
  volume->metadata().put(Family::kInodes, "key", "open");

  EXPECT_EQ(get(*volume, "key"), "open");
  EXPECT_EQ(get(*open_at(crash()), "key"), "committed");
}

TEST_F(VolumeTest, CommitOfNothingIsNothing) {
  create();
  const auto volume = open();
  const auto before = listing(path());

  ASSERT_TRUE(volume->commit());
  volume->freeze();
  ASSERT_TRUE(volume->commit());

  EXPECT_FALSE(volume->has_frozen());
  EXPECT_EQ(listing(path()), before);
}

TEST_F(VolumeTest, NothingOfAFailedCommitIsDurableAndAllOfItReadable) {
  create();
  std::atomic<int> operations_left = 1'000'000;
  auto opened = Volume::open(path(), {}, backing_that_fails_after(operations_left));
  ASSERT_TRUE(opened) << opened.error().message();
  const auto volume = std::move(*opened);
  volume->metadata().put(Family::kInodes, "key", "value");
  const auto ids = put(*volume, std::string(100'000, 'x'));

  operations_left = 0;
  volume->freeze();
  const auto committed = volume->commit();

  ASSERT_FALSE(committed);
  EXPECT_TRUE(volume->has_frozen());
  EXPECT_EQ(get(*volume, "key"), "value");
  EXPECT_EQ(get(*open_at(crash()), "key"), std::nullopt);
}

// A commit with something of each participant: chunks, one that heals, counters, metadata, a snapshot.
class EveryStepOfACommit : public VolumeTest {
 protected:
  // Calls to the disk fail while `calls_left` is 0 or less.
  void open_with_a_damaged_chunk() {
    volume_.reset();
    fs::remove_all(path());
    create();
    {
      const auto volume = open();
      lost_ = put(*volume, lost_bytes_).at(0);
      volume->freeze();
      ASSERT_TRUE(volume->commit());
    }
    for (const auto& file : fs::directory_iterator(path() / kContainersDirectory)) {
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(static_cast<std::streamoff>(file.file_size() / 2));
      bytes.put('?');
    }
    calls_left_ = kMany;
    auto backing = std::make_shared<FaultyBacking>();
    backing->fault = [this](const std::string& operation, const Path&) -> std::optional<Error> {
      if (!failing_.contains(operation) || --calls_left_ >= 0) return std::nullopt;
      return Error{ErrorCode::kNoSpace, operation + " was told to fail"};
    };
    auto opened = Volume::open(path(), {.threads = 1}, backing);
    ASSERT_TRUE(opened) << opened.error().message();
    volume_ = std::move(*opened);
    EXPECT_FALSE(get(*volume_, lost_));
    EXPECT_EQ(volume_->chunks().damage().damaged_chunks(), 1u);
  }
  void change_everything(int calls_left = kMany) {
    EXPECT_EQ(put(*volume_, lost_bytes_).at(0), lost_);
    added_ = put(*volume_, "another chunk").at(0);
    volume_->chunks().dropped().add(5000);
    volume_->metadata().put(Family::kInodes, "key", "value");
    volume_->metadata().put(Family::kSnapshots, encode_snapshot_key(1), encode_snapshot(kSnapshot));
    calls_left_ = calls_left;
    volume_->freeze();
    volume_->snapshots().put_uncommitted(kSnapshot);
  }
  static void expect_everything(Volume& volume, ChunkId lost, ChunkId added, const std::string& lost_bytes) {
    EXPECT_EQ(volume.chunks().damage().damaged_chunks(), 0u);
    EXPECT_EQ(volume.chunks().dropped().count(), 5000u);
    EXPECT_EQ(get(volume, "key"), "value");
    EXPECT_TRUE(volume.snapshots().find("monday"));
    EXPECT_EQ(get(volume, lost).value(), lost_bytes);
    EXPECT_EQ(get(volume, added).value(), "another chunk");
  }

  static constexpr int kMany = 1'000'000;
  const SnapshotRecord kSnapshot{.number = 1, .name = "monday", .end_of_inodes = 100};
  const std::string lost_bytes_ = std::string(1000, 'a') + std::string(1000, 'b');
  std::atomic<int> calls_left_ = kMany;
  std::set<std::string> failing_;
  std::unique_ptr<Volume> volume_;
  ChunkId lost_{};
  ChunkId added_{};
};

TEST_F(EveryStepOfACommit, MayFindTheDiskFullAndTheNextAttemptIsAsIfItHadNot) {
  failing_ = {"open", "write"};
  int steps = 0;
  for (bool failed = true; failed; ++steps) {
    SCOPED_TRACE("step " + std::to_string(steps));
    open_with_a_damaged_chunk();
    ASSERT_NE(volume_, nullptr);
    change_everything(steps);

    failed = !volume_->commit();
    calls_left_ = kMany;
    if (failed) {
      EXPECT_EQ(volume_->chunks().damage().healed_chunks(), 0u);
      EXPECT_FALSE(volume_->snapshots().find("monday")) << "before its group is committed";
      EXPECT_EQ(get(*volume_, "key"), "value");
      EXPECT_EQ(get(*open_at(crash()), "key"), std::nullopt);
      const auto again = volume_->commit();
      ASSERT_TRUE(again) << again.error().message();
    }

    EXPECT_EQ(volume_->chunks().damage().healed_chunks(), 1u);
    expect_everything(*volume_, lost_, added_, lost_bytes_);
    expect_everything(*open_at(crash()), lost_, added_, lost_bytes_);
  }
  EXPECT_GE(steps, 4) << "a container is made and written, and so is the log of the index";
}

TEST_F(EveryStepOfACommit, ThatCannotBeSyncedIsFinal) {
  failing_ = {"datasync", "sync_directory"};
  int steps = 0;
  for (bool failed = true; failed; ++steps) {
    SCOPED_TRACE("step " + std::to_string(steps));
    open_with_a_damaged_chunk();
    ASSERT_NE(volume_, nullptr);
    change_everything(steps);

    failed = !volume_->commit();
    calls_left_ = kMany;
    if (!failed) break;
    EXPECT_FALSE(volume_->commit()) << "nobody knows what is on the disk";
    EXPECT_EQ(volume_->chunks().damage().healed_chunks(), 0u);
    EXPECT_EQ(get(*volume_, "key"), "value");
    EXPECT_EQ(get(*volume_, lost_).value(), lost_bytes_);
  }
  EXPECT_GE(steps, 2) << "the container is synced, and the log of the index";
}

TEST_F(EveryStepOfACommit, WhenItFailsForGoodTheSnapshotIsDroppedAndTheRestCanBeRead) {
  open_with_a_damaged_chunk();
  ASSERT_NE(volume_, nullptr);
  change_everything();

  for (CommitParticipant* const participant :
       std::initializer_list<CommitParticipant*>{&volume_->chunks(), &volume_->metadata(), &volume_->snapshots()})
    participant->failed(CommitFailure::kFinal);

  EXPECT_FALSE(volume_->snapshots().knows(1));
  EXPECT_TRUE(volume_->has_frozen());
  EXPECT_EQ(get(*volume_, "key"), "value");
  EXPECT_EQ(get(*volume_, lost_).value(), lost_bytes_);
}

TEST_F(VolumeTest, NumberOfARemovedContainerIsNotUsedAgain) {
  create();
  const auto commit_one = [&](const std::string& chunk) {
    const auto volume = open();
    put(*volume, chunk);
    volume->freeze();
    ASSERT_TRUE(volume->commit());
  };
  commit_one("first");
  const auto first = listing(path() / kContainersDirectory);
  ASSERT_EQ(first.size(), 1u);
  fs::remove(path() / kContainersDirectory / first.begin()->first);

  commit_one("second");

  const auto second = listing(path() / kContainersDirectory);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second.begin()->first, first.begin()->first);
}

// A rebuild of the index reads all containers: an id in two of them would stand for either chunk.
TEST_F(VolumeTest, BesideContainersThatAreNewerThanTheIndexNeitherTheirNumbersNorTheirIdsAreUsedAgain) {
  create();
  const auto commit_one = [&](const std::string& chunk) {
    const auto volume = open();
    const auto ids = put(*volume, chunk);
    volume->freeze();
    EXPECT_TRUE(volume->commit());
    return ids.at(0);
  };
  commit_one("in the backup");
  fs::copy(path() / kIndexDirectory, directory_.path() / "backup", fs::copy_options::recursive);
  const ChunkId newer = commit_one("newer than the backup");
  const auto containers = listing(path() / kContainersDirectory);
  fs::remove_all(path() / kIndexDirectory);
  fs::copy(directory_.path() / "backup", path() / kIndexDirectory, fs::copy_options::recursive);

  const ChunkId latest = commit_one("written after the backup was put back");

  EXPECT_GT(number_of(latest), number_of(newer));
  const auto more_containers = listing(path() / kContainersDirectory);
  EXPECT_EQ(more_containers.size(), containers.size() + 1);
  for (const auto& [name, written] : containers) EXPECT_EQ(more_containers.at(name), written) << name;
}

}  // namespace
}  // namespace dedupfs
