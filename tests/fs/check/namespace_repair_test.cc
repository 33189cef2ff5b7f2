#include "fs/check/namespace_repair.h"

#include <gmock/gmock.h>

#include "fs/damaged_volume.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::HasSubstr;

using Mode = FsckOptions::Mode;

class NamespaceRepairTest : public testing::Test {
 protected:
  InodeNumber inode_of(const std::string& path) const { return whole_.entries.at(path).inode; }

  InodeRecord inode(InodeNumber number) const {
    return value_of(decode_inode(
        number, value_of(volume_.open(true)->database().get(Family::kInodes, encode_inode_key(number))).value()));
  }
  void put_inode(InodeNumber number, const InodeRecord& record) const {
    volume_.put(Family::kInodes, encode_inode_key(number), encode_inode(record));
  }
  Dirent dirent(InodeNumber parent, const std::string& name) const {
    const auto value = value_of(volume_.open(true)->database().get(Family::kDirents, encode_dirent_key(parent, name)));
    return value_of(decode_dirent(parent, value.value()));
  }
  // Both forms of it.
  void put_name(InodeNumber parent, const std::string& name, const Dirent& entry) const {
    volume_.put(Family::kDirents, encode_dirent_key(parent, name), encode_dirent(entry));
    volume_.put(Family::kCookies, encode_cookie_key(parent, entry.cookie),
                encode_cookie_entry({.inode = entry.inode, .type = entry.type, .name = name}));
  }
  void erase_name(InodeNumber parent, const std::string& name) const {
    const Dirent entry = dirent(parent, name);
    volume_.erase(Family::kDirents, encode_dirent_key(parent, name));
    volume_.erase(Family::kCookies, encode_cookie_key(parent, entry.cookie));
  }
  std::vector<RecipeEntry> segment(InodeNumber number) const {
    const auto value = value_of(volume_.open(true)->database().get(Family::kRecipes, encode_recipe_key(number, 0)));
    return value_of(decode_segment(value.value()));
  }

  // Afterwards nothing is wrong but what is lost, and nothing more is done.
  FsckReport repair(Mode mode = Mode::kAll) {
    EXPECT_NE(volume_.fsck(Mode::kCheck).errors_left, 0u) << "there is nothing to repair";
    FsckReport report = volume_.fsck(mode);
    EXPECT_EQ(report.errors_left, 0u) << testing::PrintToString(report.lines);
    EXPECT_EQ(volume_.fsck(Mode::kAll).repairs, 0u);
    tree_ = volume_.tree();
    return report;
  }
  bool has_content_as_before(const std::string& now, const std::string& before) const {
    const auto found = tree_.entries.find(now);
    return found != tree_.entries.end() && found->second.content == whole_.entries.at(before).content;
  }
  bool is_as_before() const { return tree_.entries == whole_.entries; }

  DamagedVolume volume_;
  const Tree& whole_ = DamagedVolume::tree_when_whole();
  Tree tree_;
};

// ---------------------------------------------------------------- names

TEST_F(NamespaceRepairTest, TypeOfANameIsThatOfItsInode) {
  Dirent entry = dirent(kRootInode, "tiny");
  entry.type = S_IFLNK;
  put_name(kRootInode, "tiny", entry);

  repair(Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, NameThatLeadsNowhereIsDropped) {
  put_name(kRootInode, "ghost", {.inode = 9999, .type = S_IFREG, .cookie = 1000});

  EXPECT_THAT(repair().lines, Contains(HasSubstr("lost: name 'ghost' in directory 1: inode 9999 is lost")));
  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, SecondNameOfADirectoryIsDropped) {
  put_name(kRootInode, "again", {.inode = inode_of("/folder/below"), .type = S_IFDIR, .cookie = 1000});

  repair();

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, TwoNamesAtOnePlaceGetOneEach) {
  Dirent entry = dirent(kRootInode, "tiny");
  entry.cookie = dirent(kRootInode, "sparse").cookie;
  volume_.put(Family::kDirents, encode_dirent_key(kRootInode, "tiny"), encode_dirent(entry));

  repair(Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, FileWithoutANameIsInLostAndFound) {
  erase_name(kRootInode, "tiny");

  repair(Mode::kSafe);

  EXPECT_TRUE(has_content_as_before("/lost+found/#" + std::to_string(inode_of("/tiny")), "/tiny"));
  EXPECT_EQ(tree_.entries.at("/lost+found").mode, std::uint32_t{S_IFDIR | 0700});
}

TEST_F(NamespaceRepairTest, FileThatIsCalledLostAndFoundIsRespected) {
  const Dirent entry = dirent(kRootInode, "sparse");
  erase_name(kRootInode, "sparse");
  put_name(kRootInode, "lost+found", entry);
  erase_name(kRootInode, "tiny");

  repair(Mode::kSafe);

  EXPECT_TRUE(has_content_as_before("/lost+found", "/sparse"));
  EXPECT_TRUE(has_content_as_before("/lost+found.1/#" + std::to_string(inode_of("/tiny")), "/tiny"));
}

TEST_F(NamespaceRepairTest, DirectoryBelowItselfIsMovedToLostAndFoundWithAllThatIsInIt) {
  const InodeNumber folder = inode_of("/folder");
  const InodeNumber below = inode_of("/folder/below");
  erase_name(kRootInode, "folder");
  put_name(below, "folder", {.inode = folder, .type = S_IFDIR, .cookie = 1000});
  InodeRecord record = inode(folder);
  record.attributes.parent = below;
  put_inode(folder, record);

  repair();

  const std::string top = "/lost+found/#" + std::to_string(folder);
  EXPECT_TRUE(has_content_as_before(top + "/one", "/folder/one"));
  EXPECT_TRUE(has_content_as_before(top + "/below/two", "/folder/below/two"));
}

TEST_F(NamespaceRepairTest, DirectoryWhoseInodeIsLostKeepsItsNameAndItsEntries) {
  volume_.put(Family::kInodes, encode_inode_key(inode_of("/folder")), "\x07");

  repair();

  EXPECT_TRUE(has_content_as_before("/folder/one", "/folder/one"));
  EXPECT_TRUE(has_content_as_before("/folder/below/two", "/folder/below/two"));
}

// ---------------------------------------------------------------- inodes

TEST_F(NamespaceRepairTest, WhatCanBeCountedIsCounted) {
  InodeRecord record = inode(inode_of("/folder/one"));
  record.attributes.links = 7;
  record.attributes.data_bytes = 5;
  put_inode(inode_of("/folder/one"), record);
  record = inode(inode_of("/folder"));
  record.attributes.links = 9;
  record.attributes.size = 1;
  record.attributes.next_cookie = kFirstCookie;
  record.attributes.parent = 77;
  put_inode(inode_of("/folder"), record);
  record = inode(inode_of("/tiny"));
  record.has_xattrs = false;
  put_inode(inode_of("/tiny"), record);
  volume_.put(Family::kCounters, std::string(kInodesCounter), encode_counter(2));

  repair(Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, RootIsMadeAnewWhereItIsLost) {
  volume_.erase(Family::kInodes, encode_inode_key(kRootInode));

  repair();

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, OrphanThatHasANameIsNone) {
  volume_.put(Family::kOrphans, encode_inode_key(inode_of("/tiny")), "");
  volume_.put(Family::kOrphans, encode_inode_key(9999), "");

  repair(Mode::kSafe);

  EXPECT_TRUE(is_as_before());
}

TEST_F(NamespaceRepairTest, AttributeOfAMissingInodeIsDropped) {
  volume_.put(Family::kXattrs, encode_xattr_key(9999, "user.lost"), "value");

  repair();

  EXPECT_TRUE(is_as_before());
}

// ---------------------------------------------------------------- recipes

class RecipeRepairTest : public NamespaceRepairTest {
 protected:
  // Of /folder/below/two, whose recipe is cut at its 20th entry into two segments by those who damage it.
  const InodeNumber file_ = inode_of("/folder/below/two");
  const std::vector<RecipeEntry> entries_ = segment(file_);

  static std::uint64_t length_of(const std::vector<RecipeEntry>& entries) {
    std::uint64_t length = 0;
    for (const RecipeEntry& entry : entries) length += entry.length;
    return length;
  }
  std::vector<RecipeEntry> part(std::size_t from, std::size_t to) const {
    return {entries_.begin() + static_cast<std::ptrdiff_t>(from), entries_.begin() + static_cast<std::ptrdiff_t>(to)};
  }
  void put_segment(std::uint64_t offset, const std::string& value) const {
    volume_.put(Family::kRecipes, encode_recipe_key(file_, offset), value);
  }

  // What is reported lost is [from, to), nothing more can be read than the rest, and that is right.
  void expect_lost(const FsckReport& report, std::uint64_t from, std::uint64_t to) {
    ASSERT_EQ(report.lost_files.size(), 1u);
    ASSERT_EQ(report.lost_files[0].ranges.size(), 1u);
    EXPECT_EQ(report.lost_files[0].ranges[0].offset, from);
    EXPECT_EQ(report.lost_files[0].ranges[0].length, to - from);
    const Tree::Entry& found = tree_.entries.at("/folder/below/two");
    const std::string& before = whole_.entries.at("/folder/below/two").content;
    ASSERT_EQ(found.content.size(), before.size());
    for (std::size_t block = 0; block < found.unreadable.size(); ++block) {
      const std::uint64_t at = block * Tree::kBlock;
      EXPECT_EQ(found.unreadable[block], at < to && at + Tree::kBlock > from) << at;
      if (!found.unreadable[block]) {
        EXPECT_TRUE(found.content.compare(at, Tree::kBlock, before, at, Tree::kBlock) == 0) << at;
      }
    }
  }
};

TEST_F(RecipeRepairTest, SegmentThatDoesNotParseAtTheEndIsLost) {
  const std::uint64_t cut = length_of(part(0, 20));
  put_segment(0, encode_segment(part(0, 20)));
  put_segment(cut, "\x01\xff");

  expect_lost(repair(), cut, length_of(entries_));
}

TEST_F(RecipeRepairTest, SegmentThatIsMissingAtTheBeginningIsLost) {
  const std::uint64_t cut = length_of(part(0, 20));
  put_segment(cut, encode_segment(part(20, entries_.size())));
  volume_.erase(Family::kRecipes, encode_recipe_key(file_, 0));

  expect_lost(repair(), 0, cut);
}

TEST_F(RecipeRepairTest, WhatTwoSegmentsSayDifferentlyIsLost) {
  const std::uint64_t from = length_of(part(0, 15));
  const std::uint64_t to = length_of(part(0, 20));
  put_segment(0, encode_segment(part(0, 20)));
  put_segment(from, encode_segment(part(15, entries_.size())));

  expect_lost(repair(), from, to);
}

TEST_F(RecipeRepairTest, ReferenceToAChunkOfAnotherLengthIsLost) {
  auto entries = entries_;
  ++entries[3].length;
  --entries[4].length;
  put_segment(0, encode_segment(entries));

  expect_lost(repair(), length_of(part(0, 3)), length_of(part(0, 5)));
}

TEST_F(RecipeRepairTest, LostContentThatIsOverwrittenIsWholeAgain) {
  volume_.erase(Family::kRecipes, encode_recipe_key(file_, 0));
  repair();
  const std::string content = noise(200'000, 2);
  auto filesystem = value_of(Filesystem::open(volume_.open(false), TestFilesystem::quiet()));

  EXPECT_TRUE(ok(filesystem->write(file_, 0, bytes_of(content), {}, nullptr)));
  EXPECT_TRUE(ok(filesystem->close()));
  filesystem.reset();

  EXPECT_TRUE(volume_.fsck(Mode::kCheck).is_clean());
  tree_ = volume_.tree();
  EXPECT_TRUE(is_as_before());
}

// ---------------------------------------------------------------- anything

// A record of each family is replaced by random bytes, or by a record with random bytes in it.
TEST_F(NamespaceRepairTest, WhateverARecordSaysTheRepairedVolumeIsSound) {
  std::mt19937_64 random(4711);
  for (const Family family : {Family::kInodes, Family::kDirents, Family::kCookies, Family::kXattrs, Family::kRecipes,
                              Family::kOrphans, Family::kChunks, Family::kFingerprints}) {
    for (int round = 0; round < 2; ++round) {
      const DamagedVolume volume;
      const auto records = volume.records(family);
      std::string key = records.empty() ? noise(8, random()) : records[random() % records.size()].first;
      std::string value = records.empty() ? "" : records[random() % records.size()].second;
      if (round == 1) key = noise(key.size(), random());
      for (int i = 0; i < 2 && !value.empty(); ++i) value[random() % value.size()] = static_cast<char>(random());
      SCOPED_TRACE(std::string(name_of(family)) + ", round " + std::to_string(round));
      volume.put(family, key, value);

      volume.fsck(Mode::kAll, false);

      const FsckReport checked = volume.fsck(Mode::kCheck, false);
      EXPECT_EQ(checked.errors_left, 0u) << testing::PrintToString(checked.lines);
      volume.tree();
    }
  }
}

}  // namespace
}  // namespace dedupfs
