// Files whose chunks were made by hand, and what their deletion would give back.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/statistics/shared_space.h"
#include "fs/test_filesystem.h"
#include "hand_made_content.h"

namespace dedupfs {

inline constexpr std::uint64_t kRawBytes = kHandMadeChunkBytes;
inline constexpr std::uint64_t kRawStored = kRawBytes / 2;  // of a chunk that is no delta

class SharedSpaceTest : public testing::Test {
 protected:
  SharedSpaceTest() : content_(filesystem_->volume().database()) {}

  InodeNumber make_file(const std::string& name, InodeNumber parent = kRootInode) {
    const InodeNumber inode = filesystem_.make_file(parent, name, std::string(4 * kRawBytes, 'x'));
    EXPECT_TRUE(ok(filesystem_->sync()));
    return inode;
  }
  InodeNumber make_file_of(const std::string& name, const std::vector<std::uint64_t>& chunks,
                           InodeNumber parent = kRootInode) {
    const InodeNumber inode = make_file(name, parent);
    content_.let_be(inode, chunks);
    return inode;
  }
  Share deletion(const DeletedSet& deleted) { return value_of(compute_deletion(filesystem_->volume(), deleted)); }
  Share deletion(const std::vector<InodeNumber>& inodes, InodeNumber parent = kRootInode) {
    DeletedSet deleted;
    for (const InodeNumber inode : inodes) deleted.names.push_back({inode, parent});
    return deletion(deleted);
  }

  TestFilesystem filesystem_;
  HandMadeContent content_;
};

}  // namespace dedupfs
