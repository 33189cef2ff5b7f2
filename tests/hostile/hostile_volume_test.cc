// What a mount does with an index that parses and lies: no file takes the place of another, a damaged record is an error of its
// file, and the mount lives on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/damaged_volume.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "index/counters.h"
#include "mount/clients/reclaim_volume.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/fingerprint.h"
#include "store/metadata/before_images.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class HostileVolumeTest : public testing::Test {
 protected:
  void mount() { filesystem_ = value_of(try_to_mount()); }
  Result<std::unique_ptr<Filesystem>> try_to_mount() {
    return Filesystem::open(volume_.open(false), TestFilesystem::quiet());
  }
  void unmount() {
    EXPECT_TRUE(ok(filesystem_->close()));
    filesystem_.reset();
  }
  InodeNumber create(InodeNumber parent, const std::string& name, const std::string& content) {
    const InodeNumber inode = value_of(filesystem_->create(parent, name, 0644, {})).inode;
    EXPECT_TRUE(ok(filesystem_->write(inode, 0, bytes_of(content), {}, nullptr)));
    filesystem_->forget(inode, 1);
    return inode;
  }
  std::string content_of(const std::string& name) {
    const Attributes attributes = value_of(filesystem_->lookup(kRootInode, name));
    filesystem_->forget(attributes.inode, 1);
    std::string content;
    for (const PinnedBytes& piece : value_of(filesystem_->read(attributes.inode, 0, attributes.size)))
      content += text_of(piece.bytes);
    return content;
  }
  // Of the files that were there at first; what was made since is left out.
  void expect_old_files_are_whole() {
    const VolumeTree now = VolumeTree::of(*filesystem_);
    for (const auto& [path, entry] : DamagedVolume::tree_when_whole().entries) {
      ASSERT_TRUE(now.entries.contains(path)) << path;
      EXPECT_EQ(now.entries.at(path).content, entry.content) << path;
    }
  }
  void change_inode(InodeNumber number, const std::function<void(InodeRecord&)>& change) {
    for (const auto& [key, value] : volume_.records(Family::kInodes)) {
      if (value_of(decode_inode_key(key)) != number) continue;
      InodeRecord record = value_of(decode_inode(number, value));
      change(record);
      volume_.put(Family::kInodes, key, encode_inode(record));
    }
  }
  static InodeNumber inode_of_file(const std::string& path) {
    return DamagedVolume::tree_when_whole().entries.at(path).inode;
  }
  void expect_repairable() {
    volume_.fsck(FsckOptions::Mode::kAll);
    EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
  }

  DamagedVolume volume_;
  std::unique_ptr<Filesystem> filesystem_;
};

// ---------------------------------------------------------------- counters

TEST_F(HostileVolumeTest, NoFileTakesThePlaceOfAnotherBecauseTheNextInodeIsTooSmall) {
  for (const std::uint64_t next : {1U, 2U, 3U, 5U}) {
    volume_.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(next));
    mount();
    for (int i = 0; i < 10; ++i) create(kRootInode, fmt::format("new {} {}", next, i), "new");
    expect_old_files_are_whole();
    unmount();
  }
  EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
}

TEST_F(HostileVolumeTest, ANewFileHasNothingOfOneWhoseRecordIsGone) {
  const InodeNumber last = inode_of_file("/three");
  volume_.erase(Family::kInodes, encode_inode_key(last));
  volume_.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(last));
  mount();
  EXPECT_GT(create(kRootInode, "new", "new"), last);
  EXPECT_EQ(content_of("new"), "new");
  unmount();
}

TEST_F(HostileVolumeTest, InodeNumbersThatHaveComeToTheirEndAreRefusedWithTheRemedy) {
  volume_.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(kSnapshotsInode));
  const auto refused = try_to_mount();
  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("run fsck.dedupfs -y"));
  expect_repairable();
  mount();
  unmount();
}

TEST_F(HostileVolumeTest, NoChunkTakesThePlaceOfAnotherBecauseTheNextIdIsTooSmall) {
  volume_.put(Family::kCounters, std::string(kNextChunkIdCounter), encode_number(1));
  mount();
  const std::string content = noise(100'000, 77);
  create(kRootInode, "new", content);
  ASSERT_TRUE(ok(filesystem_->sync()));
  unmount();
  mount();
  EXPECT_TRUE(content_of("new") == content);
  expect_old_files_are_whole();
  unmount();
  EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
}

TEST_F(HostileVolumeTest, ChunkIdsOutOfRangeAreRefusedAndRepaired) {
  volume_.put(Family::kCounters, std::string(kNextChunkIdCounter), encode_number(UINT64_MAX - 5));
  VolumeOptions options;
  options.index_memory_bytes = 16 << 20;
  const auto refused = Volume::open(volume_.path(), options);
  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("fsck.dedupfs -y"));
  EXPECT_NE(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
  expect_repairable();
  mount();
  expect_old_files_are_whole();
  unmount();
}

TEST_F(HostileVolumeTest, TheNextCookieOfADirectoryIsRaisedAboveThoseThatAreThere) {
  change_inode(kRootInode, [](InodeRecord& record) { record.attributes.next_cookie = kFirstCookie; });
  mount();
  create(kRootInode, "new", "new");
  expect_old_files_are_whole();
  EXPECT_EQ(content_of("new"), "new");
  unmount();
  EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
}

TEST_F(HostileVolumeTest, ADirectoryWhoseCookiesHaveComeToTheirEndTakesNoMoreNames) {
  change_inode(kRootInode, [](InodeRecord& record) { record.attributes.next_cookie = UINT64_MAX; });
  mount();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, filesystem_->create(kRootInode, "new", 0644, {})));
  expect_old_files_are_whole();
  unmount();
  expect_repairable();
  mount();
  create(kRootInode, "new", "new");
  unmount();
}

TEST_F(HostileVolumeTest, ASnapshotDoesNotGetTheNumberOfAnotherBecauseTheNextOneIsTooSmall) {
  mount();
  ASSERT_TRUE(ok(filesystem_->create_snapshot("first")));
  unmount();
  volume_.put(Family::kCounters, std::string(kNextSnapshotCounter), encode_number(0));
  mount();
  ASSERT_TRUE(ok(filesystem_->create_snapshot("second")));
  EXPECT_EQ(filesystem_->snapshots().size(), 2U);
  unmount();
  EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
}

// ---------------------------------------------------------------- chunks

TEST_F(HostileVolumeTest, AFingerprintThatLeadsToNothingOrToAnotherChunkIsNotBelieved) {
  const auto fingerprints = volume_.records(Family::kFingerprints);
  {
    const auto volume = volume_.open(false);
    Database::Batch batch(volume->database());
    for (std::size_t i = 0; i < fingerprints.size(); ++i)
      batch.put(Family::kFingerprints, fingerprints[i].first,
                i % 2 == 0 ? encode_chunk_id(ChunkId{5000}) : fingerprints[(i + 1) % fingerprints.size()].second);
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  const std::string content = DamagedVolume::tree_when_whole().entries.at("/folder/one").content;
  mount();
  create(kRootInode, "new", content);
  ASSERT_TRUE(ok(filesystem_->sync()));
  unmount();
  mount();
  EXPECT_TRUE(content_of("new") == content);
  unmount();
}

// ---------------------------------------------------------------- records

TEST_F(HostileVolumeTest, ARecipeThatIsLongerThanItsFileIsAnErrorOfThatFile) {
  const InodeNumber inode = inode_of_file("/three");
  change_inode(inode, [](InodeRecord& record) { record.attributes.size = 70'000; });
  mount();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, filesystem_->read(inode, 0, 100)));
  for (const std::uint64_t offset : {0U, 35'000U, 69'999U, 70'000U}) {
    EXPECT_TRUE(ok(filesystem_->write(inode, offset, bytes_of("hostile"), {}, nullptr)));  // it waits in memory
    EXPECT_FALSE(filesystem_->sync_file(inode));
  }
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, filesystem_->set_attributes(inode, {.size = 10}, {})));
  create(kRootInode, "new", "new");
  EXPECT_EQ(content_of("new"), "new");
  EXPECT_TRUE(ok(filesystem_->unlink(kRootInode, "three")));
  static_cast<void>(filesystem_->close());
  filesystem_.reset();
  expect_repairable();
}

TEST_F(HostileVolumeTest, TheLinkCountOfADirectoryStaysOneThatARecordMayHave) {
  change_inode(kRootInode, [](InodeRecord& record) { record.attributes.links = 2; });
  change_inode(inode_of_file("/folder"), [](InodeRecord& record) { record.attributes.links = kMaxLinks; });
  mount();
  ASSERT_TRUE(ok(filesystem_->rename(kRootInode, "folder", kRootInode, "moved", Filesystem::RenameMode::kReplace)));
  ASSERT_TRUE(ok(
      filesystem_->rename(inode_of_file("/folder"), "below", kRootInode, "below", Filesystem::RenameMode::kReplace)));
  ASSERT_TRUE(ok(
      filesystem_->rename(kRootInode, "below", inode_of_file("/folder"), "below", Filesystem::RenameMode::kReplace)));
  unmount();
  mount();
  EXPECT_TRUE(ok(filesystem_->attributes(kRootInode)));
  EXPECT_TRUE(ok(filesystem_->attributes(inode_of_file("/folder"))));
  unmount();
  expect_repairable();
}

TEST_F(HostileVolumeTest, WhatAFileCountsOfItsDataStaysANumberThatARecordMayHave) {
  const InodeNumber inode = inode_of_file("/three");
  change_inode(inode, [](InodeRecord& record) { record.attributes.data_bytes = 0; });
  mount();
  ASSERT_TRUE(ok(filesystem_->set_attributes(inode, {.size = 10}, {})));
  unmount();
  mount();
  EXPECT_TRUE(ok(filesystem_->attributes(inode)));
  unmount();
}

TEST_F(HostileVolumeTest, AnEntryCannotLeadToTheDirectoryOfTheSnapshots) {
  volume_.put(Family::kDirents, encode_dirent_key(kRootInode, "three"),
              encode_dirent({.inode = kSnapshotsInode, .type = S_IFDIR, .cookie = 9}));
  mount();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, filesystem_->lookup(kRootInode, "three")));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, filesystem_->remove_directory(kRootInode, "three")));
  unmount();
  expect_repairable();
}

TEST_F(HostileVolumeTest, ImpossibleOrphansAreLeftAlone) {
  for (const std::uint64_t orphan : {kRootInode, kSnapshotsInode, node_of(3, 1), UINT64_MAX})
    volume_.put(Family::kOrphans, encode_inode_key(orphan), "");
  volume_.put(Family::kOrphans, "short", "");
  mount();
  expect_old_files_are_whole();
  unmount();
  expect_repairable();
}

TEST_F(HostileVolumeTest, ADamagedSnapshotDoesNotKeepTheOthersNorTheVolume) {
  mount();
  ASSERT_TRUE(ok(filesystem_->create_snapshot("first")));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("second")));
  unmount();
  volume_.put(Family::kSnapshots, encode_snapshot_key(2), "damaged");
  mount();
  ASSERT_EQ(filesystem_->snapshots().size(), 1U);
  create(kRootInode, "new", "new");
  ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, "three")));
  ASSERT_TRUE(ok(filesystem_->sync()));
  const InodeNumber root = node_of(1, kRootInode);
  EXPECT_TRUE(ok(filesystem_->lookup(root, "three")));
  EXPECT_FALSE(filesystem_->lookup(root, "new"));
  unmount();
  expect_repairable();
}

TEST_F(HostileVolumeTest, AnImageThatParsesAndHoldsADamagedRecordIsRepaired) {
  mount();
  ASSERT_TRUE(ok(filesystem_->create_snapshot("first")));
  unmount();
  const struct {
    Family family;
    std::string key;
  } kDamaged[] = {{Family::kInodes, encode_inode_key(2)},
                  {Family::kDirents, encode_dirent_key(1, "x")},
                  {Family::kCookies, encode_cookie_key(1, 3)},
                  {Family::kXattrs, encode_inode_key(2)},
                  {Family::kOrphans, encode_inode_key(2) + "more"}};
  for (const auto& [family, key] : kDamaged) {
    volume_.put(Family::kBeforeImages, encode_before_image_key(family, key, 1), encode_before_image("damaged"));
    EXPECT_NE(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U) << name_of(family);
    expect_repairable();
  }
}

TEST_F(HostileVolumeTest, ACircleOfDirectoriesIsNoEndlessWay) {
  const InodeNumber folder = inode_of_file("/folder");
  const InodeNumber below = inode_of_file("/folder/below");
  change_inode(folder, [&](InodeRecord& record) { record.attributes.parent = below; });
  volume_.put(Family::kCounters, std::string(kInodesCounter), encode_counter(UINT64_MAX - 1));
  mount();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption,
                         filesystem_->rename(kRootInode, "folder", below, "x", Filesystem::RenameMode::kReplace)) ||
              fails_with(ErrorCode::kInvalidArgument,
                         filesystem_->rename(kRootInode, "folder", below, "x", Filesystem::RenameMode::kReplace)));
  const InodeNumber other = value_of(filesystem_->make_directory(kRootInode, "other", 0755, {})).inode;
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption,
                         filesystem_->rename(kRootInode, "other", below, "x", Filesystem::RenameMode::kReplace)));
  filesystem_->forget(other, 1);
  unmount();
}

TEST_F(HostileVolumeTest, ACircleOfDirectoriesIsNotClonedWithoutEnd) {
  // "below" has itself as an entry, and one that its clone will be.
  const InodeNumber below = inode_of_file("/folder/below");
  for (const InodeNumber target : {below, InodeNumber{0}}) {
    mount();
    const InodeNumber next =
        value_of(filesystem_->create(kRootInode, fmt::format("new {}", target), 0644, {})).inode + 1;
    filesystem_->forget(next - 1, 1);
    unmount();
    volume_.put(Family::kCookies, encode_cookie_key(below, 100),
                encode_cookie_entry({.inode = target == 0 ? next : target, .type = S_IFDIR, .name = "circle"}));
    mount();
    EXPECT_TRUE(
        fails_with(ErrorCode::kCorruption, filesystem_->clone_tree(below, kRootInode, fmt::format("clone {}", target))))
        << target;
    static_cast<void>(filesystem_->close());
    filesystem_.reset();
  }
}

// ---------------------------------------------------------------- parts that are not what they were

TEST_F(HostileVolumeTest, ALockOfTheIndexThatIsALinkIsRefusedAndRepairedAndNotFollowed) {
  const Path outside = volume_.path().parent_path() / "outside";
  overwrite(outside, "precious");
  std::filesystem::remove(volume_.index() / "LOCK");
  std::filesystem::create_symlink(outside, volume_.index() / "LOCK");
  EXPECT_FALSE(Volume::open(volume_.path(), {.index_memory_bytes = 16 << 20}));
  EXPECT_NE(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
  expect_repairable();
  EXPECT_EQ(dedupfs::content_of(outside), "precious");
  mount();
  expect_old_files_are_whole();
  unmount();
}

TEST_F(HostileVolumeTest, AnIndexThatNamesNoVolumeAtAllIsRepaired) {
  volume_.put(Family::kCounters, std::string(kVolumeUuidCounter), std::string("\0\1\x1b[2J", 6));
  const auto refused = Volume::open(volume_.path(), {.index_memory_bytes = 16 << 20});
  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, refused));
  EXPECT_THAT(refused.error().message(), Not(HasSubstr("\x1b")));
  expect_repairable();
  mount();
  expect_old_files_are_whole();
  unmount();
}

TEST_F(HostileVolumeTest, AVolumeWhoseSuperblockDeniesItsDeltasIsReadAndReclaimed) {
  const auto folder = folder_at(volume_.path());
  Superblock superblock = value_of(read_superblock(*folder));
  ASSERT_TRUE(superblock.delta.enabled());
  superblock.delta = {};
  ASSERT_FALSE(superblock.delta.enabled());
  ASSERT_TRUE(ok(write_superblock(*folder, superblock)));
  mount();
  ASSERT_TRUE(ok(filesystem_->unlink(inode_of_file("/folder"), "one")));
  ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, "second name of one")));  // what "three" was made from
  unmount();
  ASSERT_TRUE(
      ok(reclaim_volume(volume_.path(), ReclaimGoal::kFreeSpace, false, [](const ReclaimStatus&) { return true; })));
  mount();
  EXPECT_TRUE(content_of("three") == DamagedVolume::tree_when_whole().entries.at("/three").content);
  unmount();
  EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
}

// ---------------------------------------------------------------- fsck

// An id that was given away twice, as the containers have it: the index has the first chunk, and the repair takes the last. Only
// what it has made shows that the deltas that were made from the first are wrong.
TEST_F(HostileVolumeTest, WhatIsWrongOnlyAfterTheFirstRepairIsRepairedToo) {
  const auto extents = volume_.records(Family::kChunks);
  const ChunkExtent first = value_of(decode_extent(extents.front().first, extents.front().second));
  {
    const auto volume = volume_.open(false);
    std::vector<RegionEntry> entries;
    std::string payload;
    for (std::size_t i = 0; i < first.chunks.size(); ++i) {
      const std::string other = noise(first.chunks[i].raw_length, 1000 + i);
      RegionEntry entry;
      entry.id = first.id_of(i);
      entry.fingerprint = fingerprint_of(bytes_of(other));
      entry.raw_length = entry.payload_length = first.chunks[i].raw_length;
      entries.push_back(entry);
      payload += other;
    }
    const auto place =
        volume->containers().append(bytes_of(encode_region(entries, bytes_of(payload), Compression::none())));
    ASSERT_TRUE(ok(place));
    ASSERT_TRUE(ok(volume->containers().sync()));
  }
  volume_.put(Family::kCounters, std::string(kInodesCounter), encode_counter(99));  // a reason to repair
  const FsckReport report = volume_.fsck(FsckOptions::Mode::kAll);
  EXPECT_EQ(report.errors_left, 0U);
  EXPECT_THAT(report.lines, Contains(HasSubstr("with other content; the latter counts")));
  EXPECT_THAT(report.lines, Contains(HasSubstr("it makes other bytes than were stored")));
  EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
  mount();
  unmount();
}

TEST_F(HostileVolumeTest, FsckDoesNotPrintWithoutEnd) {
  {
    const auto volume = volume_.open(false);
    Database::Batch batch(volume->database());
    for (std::uint64_t i = 0; i < 30'000; ++i) batch.put(Family::kInodes, encode_inode_key(1000 + i), "x");
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  const FsckReport checked = volume_.fsck(FsckOptions::Mode::kCheck);
  EXPECT_GE(checked.errors_left, 30'000U);
  EXPECT_LT(checked.lines.size(), 11'000U);
  EXPECT_THAT(checked.lines, Contains(HasSubstr("more lines")));
  const FsckReport repaired = volume_.fsck(FsckOptions::Mode::kAll);
  EXPECT_LT(repaired.lines.size(), 40'000U);
  EXPECT_EQ(repaired.errors_left, 0U);
}

TEST_F(HostileVolumeTest, TheNumberOfLostAndFoundIsPossibleWhateverTheCounterSays) {
  volume_.erase(Family::kDirents, encode_dirent_key(kRootInode, "three"));
  volume_.put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(UINT64_MAX / 2));
  expect_repairable();
  mount();
  EXPECT_TRUE(ok(filesystem_->lookup(kRootInode, "lost+found")));
  unmount();
}

}  // namespace
}  // namespace dedupfs
