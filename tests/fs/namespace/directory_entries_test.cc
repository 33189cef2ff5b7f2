#include "fs/namespace/directory_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fs/format/records.h"
#include "support/folder_at.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

TEST(DirectoryEntries, ComeInOrderOfCreation) {
  TestFilesystem fs;
  for (const char* name : {"z", "a", "m"}) fs.make_file(kRootInode, name);

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "z", "a", "m"));
}

TEST(DirectoryEntries, AreReadOnBehindACookieWhateverHappened) {
  TestFilesystem fs;
  for (int i = 0; i < 1000; ++i) fs.make_file(kRootInode, "file" + std::to_string(i));
  std::vector<std::string> seen;
  std::uint64_t cookie = 0;

  for (int piece = 0;; ++piece) {
    const std::vector<DirectoryEntry> entries = fs.list(kRootInode, cookie, 7);
    if (entries.empty()) break;
    for (const DirectoryEntry& entry : entries) seen.push_back(entry.name);
    cookie = entries.back().cookie;
    if (piece < 10) {
      ASSERT_TRUE(ok(fs->unlink(kRootInode, entries.back().name)));
      ASSERT_TRUE(ok(fs->unlink(kRootInode, "file" + std::to_string(999 - piece))));
    }
  }

  EXPECT_EQ(seen.size(), 1002U - 10);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(DirectoryEntries, ADamagedInodeDoesNotHideItsNeighbours) {
  TestFilesystem fs;
  const InodeNumber damaged = fs.make_file(kRootInode, "damaged");
  fs.make_file(kRootInode, "sound");
  fs.close();
  {
    auto database = value_of(Database::open(folder_at(fs.path() / "index"), {}));
    Database::Batch batch(*database);
    batch.put(Family::kInodes, encode_inode_key(damaged), "nonsense");
    ASSERT_TRUE(ok(database->write(batch)));
  }
  fs.open();

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "damaged", "sound"));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, fs.find("damaged")));
  EXPECT_TRUE(ok(fs.find("sound")));
  std::vector<bool> counted;
  ASSERT_TRUE(ok(fs->read_directory(kRootInode, 2, true, [&](const DirectoryEntry& entry) {
    counted.push_back(entry.counted);
    return true;
  })));
  EXPECT_THAT(counted, ElementsAre(false, true));
}

}  // namespace
}  // namespace dedupfs
