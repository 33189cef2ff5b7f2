#include "store/seal/sealed_tree.h"

#include <random>

#include "store/seal/sealed_names.h"
#include "store/seal/sealed_volume.h"
#include "support/crash_replay.h"

namespace dedupfs {
namespace {

using SealedTreeTest = SealedVolume;

TEST_F(SealedTreeTest, FilesThatWereExchangedGiveErrors) {
  const std::string one = sealed("one");
  put_sealed("one", sealed("two"));
  put_sealed("two", one);
  const auto folder = open().value();
  EXPECT_TRUE(content(*folder, "one").starts_with("error: "));
  EXPECT_TRUE(content(*folder, "two").starts_with("error: "));
}

TEST_F(SealedTreeTest, AFileThatWasRolledBackIsFoundWhenTheVolumeIsOpened) {
  const std::string old = sealed("one");
  fill(*open().value()->open_folder(kContainersDirectory).value(), "one", " and more");
  put_sealed("one", old);
  const auto folder = open().value();
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_NE(differences_[0].find("containers/one has"), std::string::npos) << differences_[0];
  EXPECT_EQ(open(SealedTree::refuse).error().code(), ErrorCode::kCorruption);
}

// The lengths are the same, so it is found when the file is read.
TEST_F(SealedTreeTest, AnOldStateOfTheSameLengthGivesErrors) {
  const std::string old = sealed("one");
  {
    const auto containers = open().value()->open_folder(kContainersDirectory).value();
    ASSERT_TRUE(containers->unlink("one"));
    fill(*containers, "one", "content of ONE");
  }
  put_sealed("one", old);
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_TRUE(content(*folder, "one").starts_with("error: "));
  EXPECT_EQ(content(*folder, "two"), "content of two");
}

// A sync that failed can lose the end of a file, although all before it is durable.
TEST_F(SealedTreeTest, AFileThatLostItsMapOnlyIsNotAnother) {
  const std::string whole = sealed("one");
  fill(*open().value()->open_folder(kContainersDirectory).value(), "one", " and more");
  const std::string longer = sealed("one");
  bool is_found = false;
  for (std::size_t length = longer.size() - 1; length > whole.size(); --length) {
    put_sealed("one", longer.substr(0, length));
    const auto folder = open().value();
    if (!differences_.empty()) break;
    is_found = true;
    EXPECT_EQ(content(*folder, "one"), "content of one and more") << length;
  }
  EXPECT_TRUE(is_found);
}

TEST_F(SealedTreeTest, AMissingFileAndAMissingRecordAreFound) {
  ASSERT_TRUE(real_containers()->unlink("two"));
  ASSERT_TRUE(open());
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_NE(differences_[0].find("is missing"), std::string::npos);
  ASSERT_TRUE(real_->unlink(kVolumeRecordCopyFile));
  ASSERT_TRUE(real_->unlink(kVolumeRecordFile));
  ASSERT_TRUE(open());
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_NE(differences_[0].find(kVolumeRecordFile), std::string::npos);
}

// A later sync does not bring back what the failed one lost. Who has the file open next does not know of it by itself.
TEST_F(SealedTreeTest, AFailedSyncIsNotForgottenWhenTheFileIsClosed) {
  const auto folder = open().value();
  const auto containers = folder->open_folder(kContainersDirectory).value();
  fail_to_sync(*folder, "one", "lost");
  fill(*containers, "one", " more");
  ASSERT_TRUE(containers->sync());
  cut_power();
  EXPECT_EQ(content(*open().value(), "one"), "content of one");
}

// The kernel says once that a sync failed, and keeps what it could not write. So it reads well, and is not on the disk.
TEST_F(SealedTreeTest, WhatAProcessCouldNotSyncIsWrittenAgainByTheNext) {
  fail_to_sync(*open().value(), "one", "CONTENT");
  fill(*open().value()->open_folder(kContainersDirectory).value(), "two", " and more");
  cut_power();
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(content(*folder, "one"), "CONTENT of one");
  EXPECT_EQ(content(*folder, "two"), "content of two and more");
}

TEST_F(SealedTreeTest, ItIsDurableBeforeTheNextOneListsIt) {
  fail_to_sync(*open().value(), "one", "CONTENT");
  const auto mounted = open().value();
  fill(*mounted->open_folder(kContainersDirectory).value(), "two", " and more");
  cut_power();
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(content(*folder, "one"), "CONTENT of one");
}

// Its trailer is on the list, and may not be on the disk.
TEST_F(SealedTreeTest, AnUnmountWritesNoListOfWhatCouldNotBeMadeDurable) {
  fail_to_sync(*open().value(), "one", "lost");
  EXPECT_FALSE(generation_of(*open().value())->unmounted_unix_seconds);
}

TEST_F(SealedTreeTest, WhoOnlyReadsChangesNothingAndAfterACrashFilesMayBeMissing) {
  const auto before = disk_->image().bytes();
  EXPECT_EQ(content(*open().value(), "one"), "content of one");
  EXPECT_EQ(disk_->image().bytes(), before);
  DiskImage crashed;
  {
    const auto folder = open().value();
    fill(*folder->open_folder(kContainersDirectory).value(), "three", "new");
    crashed = disk_->image();
  }
  crash(crashed);
  ASSERT_TRUE(real_containers()->unlink("two"));
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty()) << "it may have been removed before the crash";
  EXPECT_EQ(content(*folder, "three"), "new");
}

TEST_F(SealedTreeTest, ADamagedEndOfAFileOnTheListCostsNothing) {
  std::string bytes = sealed("one");
  bytes[bytes.size() - 20] ^= 1;
  put_sealed("one", bytes);
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(content(*folder, "one"), "content of one");
  ASSERT_TRUE(compare_all_files(*folder));
  EXPECT_TRUE(differences_.empty());
}

TEST_F(SealedTreeTest, WhatACrashLeftIsCompleteAfterTheNextUnmount) {
  DiskImage crashed;
  {
    const auto folder = open().value();
    const auto file = folder->open_folder(kContainersDirectory).value()->open("three", Backing::Mode::kCreate).value();
    ASSERT_TRUE(file->write(0, bytes_of("whole, ")));
    ASSERT_TRUE(file->datasync());
    ASSERT_TRUE(file->write(7, bytes_of("torn")));
    crashed = disk_->image();
  }
  crash(crashed);
  const auto torn = real_containers()->open("three", Backing::Mode::kReadWrite).value();
  ASSERT_TRUE(torn->truncate(torn->size().value() - 1));
  fill(*open().value()->open_folder(kContainersDirectory).value(), "four", "another change");
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(content(*folder, "three"), "whole, ");
}

// It is sealed with the right key, but the volume went on without it.
TEST_F(SealedTreeTest, AFileOfAnOlderStateOrOfACopyIsFoundWhenTheVolumeIsOpened) {
  const std::string removed = sealed("one");
  ASSERT_TRUE(open().value()->open_folder(kContainersDirectory).value()->unlink("one"));
  put_sealed("one", removed);
  ASSERT_TRUE(open());
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_NE(differences_[0].find("containers/one was not there"), std::string::npos) << differences_[0];
}

TEST_F(SealedTreeTest, AnAcceptedDifferenceStaysUntilTheFilesAreTakenAsTheyAre) {
  ASSERT_TRUE(real_containers()->unlink("two"));
  {
    const auto folder = open().value();
    ASSERT_EQ(differences_of(*folder).size(), 1u);
    EXPECT_EQ(content(*folder, "one"), "content of one");
    const auto containers = folder->open_folder(kContainersDirectory).value();
    EXPECT_EQ(containers->unlink("one").error().code(), ErrorCode::kCorruption);
  }
  {
    const auto folder = open().value();
    ASSERT_EQ(differences_.size(), 1u);
    ASSERT_TRUE(take_files_as_they_are(*folder));
  }
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(content(*folder, "one"), "content of one");
}

TEST_F(SealedTreeTest, AMissingListIsWrittenAgainWhenTheFilesAreTakenAsTheyAre) {
  ASSERT_TRUE(real_->unlink(kVolumeRecordFile));
  ASSERT_TRUE(take_files_as_they_are(*open().value()));
  ASSERT_TRUE(open());
  EXPECT_TRUE(differences_.empty());
}

// Its length is right, so no mount tells; nobody reads it, and then somebody who knows better takes it.
TEST_F(SealedTreeTest, AnOldStateOfTheSameLengthIsADifferenceForWhoComparesAllAndCanBeTaken) {
  const std::string old = sealed("one");
  {
    const auto containers = open().value()->open_folder(kContainersDirectory).value();
    ASSERT_TRUE(containers->unlink("one"));
    fill(*containers, "one", "content of ONE");
  }
  put_sealed("one", old);
  {
    const auto folder = open().value();
    EXPECT_TRUE(differences_.empty());
    ASSERT_TRUE(compare_all_files(*folder));
    ASSERT_EQ(differences_.size(), 1u);
    EXPECT_NE(differences_[0].find("containers/one is not as it was"), std::string::npos) << differences_[0];
    EXPECT_TRUE(content(*folder, "one").starts_with("error: "));
    ASSERT_TRUE(take_files_as_they_are(*folder));
    EXPECT_EQ(content(*folder, "one"), "content of one");
  }
  const auto folder = open().value();
  ASSERT_TRUE(compare_all_files(*folder));
  EXPECT_TRUE(differences_.empty());
  EXPECT_EQ(content(*folder, "one"), "content of one");
}

// What a mounted volume looks like, after changes that its last unmount does not know of.
class CrashedVolume : public SealedVolume {
 protected:
  CrashedVolume() {
    old_one_ = sealed("one");
    old_two_ = sealed("two");
    copy_ = disk_->image();
    const auto containers = [](const auto& folder) { return folder->open_folder(kContainersDirectory).value(); };
    fill(*containers(open().value()), "one", " and more");
    const auto folder = open().value();
    fill(*containers(folder), "two", " and what was written in the session");
    fill(*containers(folder), "three", "new");
    mounted_ = disk_->image();
  }
  // A file of a copy of the volume that went on by itself.
  std::string of_copy(std::string_view name, const std::string& text) {
    crash(copy_);
    fill(*open().value()->open_folder(kContainersDirectory).value(), name, text);
    std::string bytes = sealed(name);
    crash(mounted_);
    return bytes;
  }
  // The volume, as the disk has it now, with a table in a folder in which a repair left it.
  void move_a_table_aside() {
    crash(mounted_);
    const auto folder = open().value();
    const auto index = folder->open_folder(kIndexDirectory).value();
    fill(*index, "000001.sst", "a table");
    ASSERT_TRUE(index->rename("000001.sst", *folder->make_and_open_folder("index.damaged").value(), "000001.sst"));
  }
  void expect_difference(std::string_view name) {
    const auto folder = open().value();
    ASSERT_EQ(differences_.size(), 1u);
    EXPECT_NE(differences_[0].find(name), std::string::npos) << differences_[0];
    EXPECT_TRUE(content(*folder, name).starts_with("error: "));
  }

  std::string old_one_;
  std::string old_two_;
  DiskImage copy_;
  DiskImage mounted_;
};
using CrashedVolumeTest = CrashedVolume;

TEST_F(CrashedVolumeTest, HasWhatItHadAndWhatWasWrittenInTheSession) {
  crash(mounted_);
  for (int round = 0; round < 2; ++round) {
    const auto folder = open().value();
    EXPECT_TRUE(differences_.empty()) << differences_[0];
    EXPECT_EQ(content(*folder, "one"), "content of one and more");
    EXPECT_EQ(content(*folder, "two"), "content of two and what was written in the session");
    EXPECT_EQ(content(*folder, "three"), "new");
    fill(*folder->open_folder(kContainersDirectory).value(), "four", "and it goes on");
  }
}

TEST_F(CrashedVolumeTest, AnOlderStateOfAFileIsADifference) {
  crash(mounted_);
  put_sealed("one", old_one_);
  expect_difference("one");
}

// A bucket has many containers. So whoever only reads compares none before he opens it. Whoever changes something compares all first.
TEST_F(CrashedVolumeTest, FarAwayContainersAreComparedWhenTheyAreOpened) {
  crash(mounted_);
  put_sealed("one", old_one_);
  disk_->set_far();
  int reads = 0;
  disk_->set_fault([&reads](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
    if (operation == "read" && path.parent_path().filename() == kContainersDirectory) ++reads;
    return std::nullopt;
  });

  const auto folder = open().value();

  EXPECT_EQ(reads, 0);
  EXPECT_EQ(content(*folder, "two"), "content of two and what was written in the session");
  EXPECT_TRUE(content(*folder, "one").starts_with("error: "));
  EXPECT_TRUE(differences_.empty());
  const auto changed = folder->open_folder(kContainersDirectory).value()->unlink("two");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), ErrorCode::kCorruption);
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_NE(differences_[0].find("one"), std::string::npos) << differences_[0];
}

TEST_F(CrashedVolumeTest, FilesOfACopyAreDifferences) {
  const std::string three = of_copy("three", "NEW");
  put_sealed("three", three);
  expect_difference("three");
  const std::string two = of_copy("two", " and what was written in the SESSION");
  put_sealed("two", two);
  expect_difference("two");
}

// The list of before the session is carried along, and who opens the volume next makes another one.
TEST_F(CrashedVolumeTest, ManyCrashesOneBehindTheOtherKeepTheList) {
  crash(mounted_);
  std::string older;
  for (int round = 0; round < 3; ++round) {
    DiskImage crashed;
    {
      const auto folder = open().value();
      ASSERT_TRUE(differences_.empty()) << differences_[0];
      older = sealed("three");
      fill(*folder->open_folder(kContainersDirectory).value(), "three", "!");
      crashed = disk_->image();
    }
    crash(crashed);
  }
  EXPECT_EQ(content(*open().value(), "three"), "new!!!");
  // A state of one session before.
  const DiskImage last = disk_->image();
  {
    const auto folder = open().value();
    fill(*folder->open_folder(kContainersDirectory).value(), "four", "a change");
    const DiskImage crashed = disk_->image();
    crash(crashed);
  }
  put_sealed("three", older);
  expect_difference("three");
  crash(last);
  put_sealed("one", old_one_);
  expect_difference("one");
}

// Whoever puts back the record of a mounted volume brings back the list that it had then.
TEST_F(CrashedVolumeTest, TheRecordOfAMountedVolumeDoesNotLetOlderFilesIn) {
  const auto record = mounted_.contents.at(mounted_.names.at("/volume/unmounted"));
  const auto unlinked = real_->unlink(kVolumeRecordFile);
  ASSERT_TRUE(unlinked);
  ASSERT_TRUE(real_->open(kVolumeRecordFile, Backing::Mode::kCreate).value()->write(0, bytes_of(*record)));
  put_sealed("one", old_one_);
  expect_difference("one");
}

// What only the memory of the machine had after the first crash is durable before it is on a list.
TEST_F(CrashedVolumeTest, APowerCutAfterAnotherCrashLeavesNothingThatIsNotOnTheList) {
  std::size_t events = 0;
  {
    const auto folder = open().value();
    fill(*folder->open_folder(kContainersDirectory).value(), "two", " begun");
    const auto containers = folder->open_folder(kContainersDirectory).value();
    ASSERT_TRUE(containers->unlink("three"));
    const auto file = containers->open("four", Backing::Mode::kCreate).value();
    ASSERT_TRUE(file->write(0, bytes_of("not synced")));
    events = disk_->event_count();  // the process is killed here, and another one goes on
  }
  const std::vector<DiskEvent> all = disk_->events();
  // The same disk with all its events, as far as they came, and those of the next process.
  DiskImage image;
  for (std::size_t i = 0; i < events; ++i) apply(image, all[i]);
  disk_ = std::make_shared<MemoryDisk>(image);
  real_ = disk_->open_root("/volume").value();
  fill(*open().value()->open_folder(kContainersDirectory).value(), "five", "a change");
  std::vector<DiskEvent> both(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(events));
  for (const DiskEvent& event : disk_->events()) both.push_back(event);
  std::mt19937_64 random(1);
  CrashReplay replay({}, both);
  for (std::size_t position = events; position <= both.size(); ++position) {
    replay.go_to(position);
    for (std::uint64_t variation = 0; variation < 12; ++variation) {
      crash(replay.state(variation, random()));
      ASSERT_TRUE(open());
      ASSERT_TRUE(differences_.empty()) << position << ", " << variation << ": " << differences_[0];
    }
  }
}

TEST_F(CrashedVolumeTest, DamageIsNamedAndKeepsNobodyOut) {
  crash(mounted_);
  std::string bytes = sealed("three");
  bytes.front() ^= 1;
  bytes.back() ^= 1;  // its map cannot be found
  put_sealed("three", bytes);
  {
    const auto folder = open().value();
    EXPECT_TRUE(differences_.empty());
    EXPECT_TRUE(content(*folder, "three").starts_with("error: "));
    fill(*folder->open_folder(kContainersDirectory).value(), "four", "a change");
  }
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty());
  EXPECT_TRUE(content(*folder, "three").starts_with("error: "));
  EXPECT_EQ(content(*folder, "four"), "a change");
}

// As a repair does it.
TEST_F(CrashedVolumeTest, AnIndexThatWasMovedAsideIsKnown) {
  move_a_table_aside();
  {
    const auto folder = open().value();
    const auto salvage = folder->make_and_open_folder("index.salvage").value();
    const auto damaged = folder->open_folder("index.damaged").value();
    ASSERT_TRUE(damaged->link("000001.sst", *salvage, "000001.sst"));
    crash(disk_->image());
  }
  const auto folder = open().value();
  EXPECT_TRUE(differences_.empty()) << differences_[0];
  EXPECT_EQ(read_file(*folder->open_folder("index.salvage").value(), "000001.sst", 100).value(), "a table");
}

// Repairs tell people to remove it.
TEST_F(CrashedVolumeTest, AnIndexThatWasMovedAsideMayBeRemoved) {
  move_a_table_aside();
  ASSERT_TRUE(open());
  EXPECT_TRUE(differences_.empty()) << "it is on the list";
  ASSERT_TRUE(real_->open_folder("index.damaged").value()->unlink("000001.sst"));
  ASSERT_TRUE(real_->remove_folder("index.damaged"));

  EXPECT_TRUE(open());
  EXPECT_TRUE(differences_.empty()) << differences_[0];
  EXPECT_TRUE(open()) << "nor is it missed by the next one";
  EXPECT_TRUE(differences_.empty()) << differences_[0];
}

TEST_F(SealedTreeTest, WhatPeopleLeaveInTheFoldersIsOfNoInterest) {
  const auto leave = [&] { ASSERT_TRUE(real_containers()->open(".DS_Store", Backing::Mode::kCreate)); };
  leave();
  fill(*open().value()->open_folder(kContainersDirectory).value(), "one", " and more");
  EXPECT_TRUE(differences_.empty()) << differences_[0];
  ASSERT_TRUE(real_containers()->unlink(".DS_Store"));

  EXPECT_TRUE(open());
  EXPECT_TRUE(differences_.empty()) << "it is not on the list: " << differences_[0];
}

// What a repair moved aside is an older state.
TEST_F(CrashedVolumeTest, AnIndexThatWasMovedAsideDoesNotComeBack) {
  move_a_table_aside();
  {
    const auto folder = open().value();
    fill(*folder->open_folder(kContainersDirectory).value(), "three", "new");
    crash(disk_->image());
  }
  const auto index = real_->open_folder(kIndexDirectory).value();
  ASSERT_TRUE(real_->open_folder("index.damaged").value()->rename("000001.sst", *index, "000001.sst"));
  const auto folder = open().value();
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_FALSE(read_file(*folder->open_folder(kIndexDirectory).value(), "000001.sst", 100));
}

// Who waits for the lock gets the files of when he has it.
TEST_F(SealedTreeTest, TheListIsReadAgainWhenTheLockIsThere) {
  const auto early = open_sealed_folder(real_, key_, SealedTree::refuse);
  fill(*open().value()->open_folder(kContainersDirectory).value(), "one", " and more");
  EXPECT_EQ(early->open(kLockFile, Backing::Mode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(content(*early, "one"), "content of one and more");
  const auto late = open_sealed_folder(real_, key_, SealedTree::refuse);
  fill(*open().value()->open_folder(kContainersDirectory).value(), "three", "new");
  put_sealed("three", sealed("one"));
  const auto lock = late->open(kLockFile, Backing::Mode::kOpenOrCreate).value();
  EXPECT_EQ(lock->try_lock(BackingFile::LockMode::kShared).error().code(), ErrorCode::kCorruption);
}

TEST_F(SealedTreeTest, AnUnreadableRecordIsADifferenceAndAnUnreadableFileKeepsNoListFromBeingWritten) {
  fail("read", kVolumeRecordFile, "a bad sector");
  ASSERT_TRUE(open());
  EXPECT_TRUE(differences_.empty()) << "there is a copy";
  ASSERT_TRUE(real_->unlink(kVolumeRecordCopyFile));
  ASSERT_TRUE(open());
  EXPECT_EQ(differences_.size(), 1u);
  fail("read", "two", "a bad sector");
  ASSERT_TRUE(real_->unlink(kVolumeRecordFile));
  ASSERT_TRUE(take_files_as_they_are(*open().value()));
  ASSERT_TRUE(open());
  EXPECT_TRUE(differences_.empty());
  disk_->set_fault(nullptr);
  EXPECT_TRUE(content(*open().value(), "two").starts_with("error: ")) << "nobody knows what it was";
}

}  // namespace
}  // namespace dedupfs
