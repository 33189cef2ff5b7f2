#include "fs/inodes/inode_record.h"

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "fs/test_metadata.h"

namespace dedupfs {
namespace {

TEST(InodeRecord, IsPutAsItIsInMemory) {
  TestMetadata metadata;
  Inode inode(7);
  const MutexLock lock(inode.mutex);
  inode.record = TestMetadata::file_record(7);
  inode.record.attributes.size = 5000;
  inode.record.attributes.data_bytes = 4096;
  inode.record.has_xattrs = true;

  put_record(*metadata, inode);

  const auto stored = metadata->get(Family::kInodes, encode_inode_key(7)).value();
  ASSERT_TRUE(stored);
  EXPECT_EQ(decode_inode(7, *stored).value(), inode.record);
  EXPECT_EQ(attributes_of(inode), inode.record.attributes);
}

TEST(InodeRecord, OfADirectoryNamesItsParent) {
  TestMetadata metadata;
  metadata.put_directory(5, 3);
  metadata.put_file(6);

  EXPECT_EQ(read_parent(*metadata, 5).value(), 3U);
  EXPECT_EQ(read_parent(*metadata, 6).error().code(), ErrorCode::kNotDirectory);
  EXPECT_EQ(read_parent(*metadata, 7).error().code(), ErrorCode::kStale);
}

TEST(InodeRecord, AboveTheRootOfASnapshotIsTheDirectoryOfSnapshots) {
  Inode live_root(kRootInode);
  Inode root(node_of(4, kRootInode));
  Inode below(node_of(4, 5));
  {
    const MutexLock lock(live_root.mutex);
    live_root.record = TestMetadata::directory_record(kRootInode, kRootInode);
  }
  {
    const MutexLock lock(root.mutex);
    root.record = TestMetadata::directory_record(root.number, root.number);
  }
  {
    const MutexLock lock(below.mutex);
    below.record = TestMetadata::directory_record(below.number, root.number);
  }

  EXPECT_EQ(parent_of(live_root), kRootInode);
  EXPECT_EQ(parent_of(root), kSnapshotsInode);
  EXPECT_EQ(parent_of(below), root.number);
}

}  // namespace
}  // namespace dedupfs
