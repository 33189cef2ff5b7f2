#include "fs/check/namespace_check.h"

#include <gmock/gmock.h>

#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/test_filesystem.h"
#include "store/check/store_check.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A volume with folders "a/b" and "c", a file "a/file" of many chunks with a second name "hard", and a tiny one "tiny" with
// an attribute. Tests change its records and look what the check finds.
class NamespaceCheckTest : public testing::Test {
 protected:
  NamespaceCheckTest() {
    a_ = filesystem_.make_directory(kRootInode, "a");
    b_ = filesystem_.make_directory(a_, "b");
    c_ = filesystem_.make_directory(kRootInode, "c");
    std::string content;
    for (int i = 0; content.size() < 200'000; ++i) content += std::to_string(i * 7919);
    file_ = filesystem_.make_file(a_, "file", content);
    value_of(filesystem_->make_link(file_, kRootInode, "hard"));
    tiny_ = filesystem_.make_file(kRootInode, "tiny", "tiny");
    EXPECT_TRUE(ok(filesystem_->set_xattr(tiny_, "user.name", "value", Filesystem::XattrMode::kSet)));
    filesystem_.close();
  }

  std::vector<std::string> check() {
    std::vector<std::string> lines;
    CheckReport report([&](const std::string& line) { lines.push_back(line); });
    const auto volume = open(true);
    const ChunkTable chunks = value_of(check_store(*volume, report)).chunks;
    EXPECT_THAT(lines, IsEmpty()) << "the store is not sound";
    totals_ = value_of(check_namespace(*volume, chunks, report));
    return lines;
  }

  std::string get(Family family, const std::string& key) {
    return value_of(open(true)->database().get(family, key)).value();
  }
  void put(Family family, const std::string& key, const std::string& value) {
    const auto volume = open();
    Database::Batch batch(volume->database());
    batch.put(family, key, value);
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  void erase(Family family, const std::string& key) {
    const auto volume = open();
    Database::Batch batch(volume->database());
    batch.erase(family, key);
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }

  void change_inode(InodeNumber inode, const std::function<void(InodeRecord&)>& change) {
    InodeRecord record = value_of(decode_inode(inode, get(Family::kInodes, encode_inode_key(inode))));
    change(record);
    put(Family::kInodes, encode_inode_key(inode), encode_inode(record));
  }
  void change_dirent(InodeNumber parent, std::string_view name, const std::function<void(Dirent&)>& change) {
    Dirent dirent = value_of(decode_dirent(parent, get(Family::kDirents, encode_dirent_key(parent, name))));
    change(dirent);
    put(Family::kDirents, encode_dirent_key(parent, name), encode_dirent(dirent));
  }
  void erase_name(InodeNumber parent, std::string_view name) {
    const Dirent dirent = value_of(decode_dirent(parent, get(Family::kDirents, encode_dirent_key(parent, name))));
    erase(Family::kDirents, encode_dirent_key(parent, name));
    erase(Family::kCookies, encode_cookie_key(parent, dirent.cookie));
  }
  void change_recipe(InodeNumber inode, const std::function<void(std::vector<RecipeEntry>&)>& change) {
    auto entries = value_of(decode_segment(get(Family::kRecipes, encode_recipe_key(inode, 0))));
    change(entries);
    put(Family::kRecipes, encode_recipe_key(inode, 0), encode_segment(entries));
  }

  std::unique_ptr<Volume> open(bool read_only = false) {
    VolumeOptions options;
    options.read_only = read_only;
    options.threads = 1;
    options.index_memory_bytes = 16 << 20;
    return value_of(Volume::open(filesystem_.path(), options));
  }

  TestFilesystem filesystem_;
  NamespaceTotals totals_;
  InodeNumber a_ = 0;
  InodeNumber b_ = 0;
  InodeNumber c_ = 0;
  InodeNumber file_ = 0;
  InodeNumber tiny_ = 0;
};

TEST_F(NamespaceCheckTest, HealthyVolumeIsClean) {
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_EQ(totals_.inodes, 6u);
  EXPECT_EQ(totals_.directories, 4u);
  EXPECT_EQ(totals_.orphans, 0u);
  EXPECT_GT(totals_.chunk_references, 10u);
}

TEST_F(NamespaceCheckTest, VolumeThatWasNeverMountedIsClean) {
  TempDir other;
  value_of(Volume::create(other.path() / "new", VolumeSettings()));
  const auto volume = value_of(Volume::open(other.path() / "new", {.read_only = true}));
  CheckReport report([](const std::string& line) { ADD_FAILURE() << line; });

  EXPECT_EQ(value_of(check_namespace(*volume, {}, report)).inodes, 0u);
}

// As a crash leaves it: unlinked, and still open then.
TEST_F(NamespaceCheckTest, OrphansAreNoErrors) {
  erase_name(kRootInode, "tiny");
  change_inode(kRootInode, [](InodeRecord& record) { record.attributes.size -= 32; });
  change_inode(tiny_, [](InodeRecord& record) { record.attributes.links = 0; });
  put(Family::kOrphans, encode_inode_key(tiny_), "");

  EXPECT_THAT(check(), IsEmpty());
  EXPECT_EQ(totals_.orphans, 1u);
}

// ---------------------------------------------------------------- names

TEST_F(NamespaceCheckTest, NameThatLeadsToAMissingInodeIsFound) {
  erase(Family::kInodes, encode_inode_key(tiny_));

  EXPECT_THAT(check(),
              Contains(HasSubstr("error: name 'tiny' in directory 1: inode " + std::to_string(tiny_) + " is missing")));
}

TEST_F(NamespaceCheckTest, NameInAMissingDirectoryIsFound) {
  put(Family::kDirents, encode_dirent_key(9999, "lost"), encode_dirent({.inode = tiny_, .type = S_IFREG, .cookie = 3}));

  EXPECT_THAT(check(), Contains(HasSubstr("name 'lost' in directory 9999: there is no such directory")));
}

TEST_F(NamespaceCheckTest, InodeWithoutANameIsFound) {
  erase_name(kRootInode, "tiny");

  EXPECT_THAT(check(), Contains(HasSubstr("it has no name")));
}

TEST_F(NamespaceCheckTest, NameOfAnotherTypeIsFound) {
  change_dirent(kRootInode, "tiny", [](Dirent& dirent) { dirent.type = S_IFLNK; });

  EXPECT_THAT(check(), Contains(HasSubstr("is of another type")));
}

TEST_F(NamespaceCheckTest, MissingPlaceInTheOrderOfTheDirectoryIsFound) {
  const Dirent dirent =
      value_of(decode_dirent(kRootInode, get(Family::kDirents, encode_dirent_key(kRootInode, "tiny"))));
  erase(Family::kCookies, encode_cookie_key(kRootInode, dirent.cookie));

  EXPECT_THAT(check(), UnorderedElementsAre(HasSubstr("'tiny' in directory 1 has no place"),
                                            HasSubstr("6 names, but 5 places")));
}

TEST_F(NamespaceCheckTest, PlaceWithoutANameIsFound) {
  put(Family::kCookies, encode_cookie_key(c_, 3),
      encode_cookie_entry({.inode = tiny_, .type = S_IFREG, .name = "ghost"}));

  EXPECT_THAT(check(), ElementsAre(HasSubstr("6 names, but 7 places")));
}

TEST_F(NamespaceCheckTest, CookieThatWillBeGivenAwayAgainIsFound) {
  change_inode(kRootInode, [](InodeRecord& record) { record.attributes.next_cookie = kFirstCookie; });

  EXPECT_THAT(check(), Contains(HasSubstr("will be assigned again")));
}

// ---------------------------------------------------------------- inodes

TEST_F(NamespaceCheckTest, WrongLinkCountOfAFileIsFound) {
  change_inode(file_, [](InodeRecord& record) { record.attributes.links = 3; });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("inode " + std::to_string(file_) + ": link count 3, but 2 names")));
}

TEST_F(NamespaceCheckTest, WrongLinkCountOfADirectoryIsFound) {
  change_inode(a_, [](InodeRecord& record) { record.attributes.links = 2; });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("link count 2, but 1 subdirectories")));
}

TEST_F(NamespaceCheckTest, WrongSizeOfADirectoryIsFound) {
  change_inode(a_, [](InodeRecord& record) { record.attributes.size += 32; });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("size 96, but 2 entries")));
}

TEST_F(NamespaceCheckTest, WrongParentOfADirectoryIsFound) {
  change_inode(b_, [&](InodeRecord& record) { record.attributes.parent = c_; });

  EXPECT_THAT(check(), Contains(HasSubstr("name 'b' in directory " + std::to_string(a_) + ": its '..' is " +
                                          std::to_string(c_))));
}

// "a" is moved below "a/b": both have a name, and none of them can be reached.
TEST_F(NamespaceCheckTest, LoopOfDirectoriesIsFound) {
  erase_name(kRootInode, "a");
  put(Family::kDirents, encode_dirent_key(b_, "a"), encode_dirent({.inode = a_, .type = S_IFDIR, .cookie = 3}));
  put(Family::kCookies, encode_cookie_key(b_, 3), encode_cookie_entry({.inode = a_, .type = S_IFDIR, .name = "a"}));
  change_inode(a_, [&](InodeRecord& record) { record.attributes.parent = b_; });
  change_inode(b_, [](InodeRecord& record) {
    record.attributes.links = 3;
    record.attributes.size = 32;
    record.attributes.next_cookie = 4;
  });
  change_inode(kRootInode, [](InodeRecord& record) {
    record.attributes.links = 3;
    record.attributes.size -= 32;
  });

  EXPECT_THAT(check(), UnorderedElementsAre(HasSubstr("inode " + std::to_string(a_) + ": not below the root"),
                                            HasSubstr("inode " + std::to_string(b_) + ": not below the root")));
}

TEST_F(NamespaceCheckTest, MissingRootIsFound) {
  erase(Family::kInodes, encode_inode_key(kRootInode));

  EXPECT_THAT(check(), Contains(HasSubstr("the root directory (inode 1) is missing")));
}

TEST_F(NamespaceCheckTest, RecordThatDoesNotParseIsFoundAndTheCheckGoesOn) {
  put(Family::kInodes, encode_inode_key(tiny_), "\x07");

  EXPECT_THAT(check(), AllOf(Contains(HasSubstr("error: inode " + std::to_string(tiny_))),
                             Contains(HasSubstr("name 'tiny' in directory 1"))));
}

TEST_F(NamespaceCheckTest, OrphanWithoutAnInodeAndOneWithNamesAreFound) {
  put(Family::kOrphans, encode_inode_key(5000), "");
  put(Family::kOrphans, encode_inode_key(tiny_), "");

  EXPECT_THAT(check(),
              UnorderedElementsAre(HasSubstr("orphan 5000: the inode is missing"),
                                   HasSubstr("orphan " + std::to_string(tiny_) + ": link count 1, and 1 names")));
}

TEST_F(NamespaceCheckTest, CountersThatAreWrongAreFound) {
  put(Family::kCounters, std::string(kNextInodeCounter), encode_counter(3));
  put(Family::kCounters, std::string(kInodesCounter), encode_counter(2));

  EXPECT_THAT(check(),
              UnorderedElementsAre(HasSubstr("but the next number is 3"), HasSubstr("2 inodes recorded, 6 found")));
}

// ---------------------------------------------------------------- attributes

TEST_F(NamespaceCheckTest, AttributeOfAMissingInodeIsFound) {
  put(Family::kXattrs, encode_xattr_key(7777, "user.lost"), "value");

  EXPECT_THAT(check(), ElementsAre(HasSubstr("7777")));
}

TEST_F(NamespaceCheckTest, AttributeThatItsInodeDeniesIsFound) {
  change_inode(tiny_, [](InodeRecord& record) { record.has_xattrs = false; });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("has the attribute 'user.name', but its record says that it has none")));
}

// ---------------------------------------------------------------- recipes

TEST_F(NamespaceCheckTest, GapInARecipeIsFound) {
  const std::string segment = get(Family::kRecipes, encode_recipe_key(file_, 0));
  erase(Family::kRecipes, encode_recipe_key(file_, 0));
  put(Family::kRecipes, encode_recipe_key(file_, 100), segment);

  EXPECT_THAT(check(), Contains(HasSubstr("recipe of inode " + std::to_string(file_) +
                                          " at 100: the segment before ends at 0")));
}

TEST_F(NamespaceCheckTest, MissingRecipeIsFound) {
  erase(Family::kRecipes, encode_recipe_key(file_, 0));

  EXPECT_THAT(check(), ElementsAre(HasSubstr("bytes of data recorded, 0 found")));
}

TEST_F(NamespaceCheckTest, ReferenceToAMissingChunkIsFound) {
  change_recipe(file_, [](auto& entries) { entries[1].chunk = ChunkId{1'000'000}; });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("chunk 1000000 is missing")));
}

TEST_F(NamespaceCheckTest, WrongLengthOfAChunkIsFound) {
  change_recipe(file_, [](auto& entries) {
    ++entries[0].length;
    --entries[1].length;
  });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("at 0: chunk"), HasSubstr("bytes, not")));
}

TEST_F(NamespaceCheckTest, RecipeBehindTheEndOfTheFileIsFound) {
  change_inode(file_, [](InodeRecord& record) { record.attributes.size = 1000; });

  EXPECT_THAT(check(), ElementsAre(HasSubstr("size 1000, but content up to")));
}

TEST_F(NamespaceCheckTest, RecipeOfADirectoryIsFound) {
  put(Family::kRecipes, encode_recipe_key(c_, 0), encode_segment({{.kind = RecipeEntry::Kind::kHole, .length = 5}}));

  EXPECT_THAT(check(), ElementsAre(HasSubstr("it has content, but is not a file")));
}

TEST_F(NamespaceCheckTest, SegmentThatDoesNotParseIsFound) {
  put(Family::kRecipes, encode_recipe_key(file_, 0), "\x01\xff");

  EXPECT_THAT(check(), Contains(HasSubstr("recipe of inode " + std::to_string(file_) + " at 0")));
}

}  // namespace
}  // namespace dedupfs
