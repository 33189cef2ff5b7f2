#include "fs/check/snapshot_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "damaged_namespace.h"
#include "fs/recipe_entries.h"
#include "index/counters.h"
#include "store/metadata/before_images.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A new volume whose snapshots are put into its index by hand. There is one chunk, 1, of 10 bytes.
struct SnapshotCheck : testing::Test {
  TempDir directory;
  std::unique_ptr<Volume> volume;
  ChunkTable chunks;
  std::vector<std::string> lines;
  CheckReport report{[this](const std::string& line) { lines.push_back(line); }};

  SnapshotCheck() {
    const Path path = directory.path() / "volume";
    value_of(Volume::create(path, TestFilesystem::settings()));
    volume = value_of(Volume::open(path, {.index_memory_bytes = 16 << 20, .threads = 1}));
    ChunkExtent extent;
    extent.first = ChunkId{1};
    extent.chunks.push_back({.raw_length = 10, .delta_length = 0, .sources = {}});
    EXPECT_TRUE(chunks.add(extent));
    put(Family::kCounters, std::string(kNextSnapshotCounter), encode_number(5));
  }
  void put(Family family, const std::string& key, const std::string& value) {
    Database::Batch batch(volume->database());
    batch.put(family, key, value);
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  void put_snapshot(TreeNumber number, const std::string& name, bool is_deleted = false) {
    put(Family::kSnapshots, encode_snapshot_key(number),
        encode_snapshot({.number = number, .name = name, .end_of_inodes = 100, .is_deleted = is_deleted}));
  }
  void put_image(TreeNumber number, Family family, const std::string& key, const std::optional<std::string>& before) {
    put(Family::kBeforeImages, encode_before_image_key(family, key, number), encode_before_image(before));
  }
  const std::vector<std::string>& check() {
    EXPECT_TRUE(ok(check_snapshots(*volume, chunks, report)));
    return lines;
  }
};

TEST_F(SnapshotCheck, AVolumeWithoutSnapshotsIsClean) {
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(SnapshotCheck, SoundSnapshotsAreClean) {
  put_snapshot(1, "a");
  put_snapshot(4, "b");
  put_image(1, Family::kRecipes, encode_recipe_key(10, 0), encode_segment({chunk(1), hole(5)}));
  put_image(4, Family::kDirents, encode_dirent_key(kRootInode, "new"), std::nullopt);

  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(SnapshotCheck, ANumberThatWouldBeGivenAwayAgainIsAnError) {
  put_snapshot(5, "a");

  EXPECT_THAT(check(), ElementsAre("error: snapshot 5 exists, but the next number is 5"));
}

TEST_F(SnapshotCheck, TwoOfOneNameAreAnErrorUnlessOneIsDeleted) {
  put_snapshot(1, "a");
  put_snapshot(2, "a", /*is_deleted=*/true);
  EXPECT_THAT(check(), IsEmpty());

  put_snapshot(3, "a");
  EXPECT_THAT(check(), ElementsAre("error: two snapshots have the name 'a'"));
}

TEST_F(SnapshotCheck, ImagesOfNoSnapshotAreCounted) {
  put_snapshot(1, "a");
  for (InodeNumber inode = 10; inode < 13; ++inode) put_image(2, Family::kOrphans, encode_inode_key(inode), "");

  EXPECT_THAT(check(), ElementsAre("error: 3 before-images of snapshot 2, which has no record"));
}

TEST_F(SnapshotCheck, RecordsThatDoNotParseAreErrorsAndTheCheckGoesOn) {
  put(Family::kSnapshots, encode_snapshot_key(1), "\xff");
  put(Family::kSnapshots, "key", "value");
  put(Family::kBeforeImages, "key", "value");
  put_snapshot(6, "late");

  EXPECT_EQ(check().size(), 4u);
  EXPECT_THAT(lines, Contains(HasSubstr("snapshot 6 exists")));
}

TEST_F(SnapshotCheck, AnImageThatCannotBeNamesItsSnapshot) {
  put_snapshot(1, "a");
  put_image(1, Family::kInodes, encode_inode_key(10), "no inode");

  EXPECT_THAT(check(), ElementsAre(testing::AllOf(HasSubstr("error: "), HasSubstr("snapshot 1"))));
}

TEST_F(SnapshotCheck, ContentThatASnapshotHasLostIsALossOfItsFile) {
  put_snapshot(1, "a");
  put_image(1, Family::kRecipes, encode_recipe_key(10, 100), encode_segment({chunk(1), hole(5), chunk(7)}));

  EXPECT_THAT(check(), ElementsAre(HasSubstr("chunk 7 is missing")));
  EXPECT_EQ(report.errors(), 0u);
  ASSERT_EQ(report.lost().count(node_of(1, 10)), 1u);
  EXPECT_EQ(report.lost().at(node_of(1, 10))[0].offset, 115u);
}

// ---------------------------------------------------------------- a record by itself

TEST(RecordOfTree, IsWhatItsEncoderWrites) {
  InodeRecord inode;
  inode.attributes.inode = 10;
  inode.attributes.mode = S_IFREG | 0644;
  inode.attributes.links = 1;
  const Dirent dirent{.inode = 10, .type = S_IFREG, .cookie = 3};

  EXPECT_TRUE(ok(check_record_of_tree(Family::kInodes, encode_inode_key(10), encode_inode(inode))));
  EXPECT_TRUE(ok(check_record_of_tree(Family::kDirents, encode_dirent_key(1, "a"), encode_dirent(dirent))));
  EXPECT_TRUE(ok(check_record_of_tree(Family::kCookies, encode_cookie_key(1, 3),
                                      encode_cookie_entry({.inode = 10, .type = S_IFREG, .name = "a"}))));
  EXPECT_TRUE(ok(check_record_of_tree(Family::kXattrs, encode_xattr_key(10, "user.a"), "anything")));
  EXPECT_TRUE(ok(check_record_of_tree(Family::kRecipes, encode_recipe_key(10, 0), encode_segment({hole(5)}))));
  EXPECT_TRUE(ok(check_record_of_tree(Family::kOrphans, encode_inode_key(10), "")));
}

TEST(RecordOfTree, WithADamagedKeyOrValueIsNone) {
  for (const Family family : kTreeFamilies)
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, check_record_of_tree(family, "short", ""))) << name_of(family);
  for (const Family family : {Family::kInodes, Family::kDirents, Family::kCookies, Family::kRecipes}) {
    const std::string key = family == Family::kInodes    ? encode_inode_key(10)
                            : family == Family::kDirents ? encode_dirent_key(10, "a")
                            : family == Family::kCookies ? encode_cookie_key(10, 3)
                                                         : encode_recipe_key(10, 0);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, check_record_of_tree(family, key, "\xff"))) << name_of(family);
  }
}

TEST(RecordOfTree, ThatOfNoTreeIsRefused) {
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, check_record_of_tree(Family::kChunks, encode_inode_key(1), "")));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, check_record_of_tree(Family::kCounters, encode_inode_key(1), "")));
}

}  // namespace
}  // namespace dedupfs
