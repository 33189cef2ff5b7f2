#include "mount/fuse/fuse_operations.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

// The kernel keeps locks itself, and no thread of the daemon ever waits for one.
TEST(FuseOperations, LocksAreLeftToTheKernel) {
  const fuse_lowlevel_ops& operations = fuse_operations();

  EXPECT_EQ(operations.getlk, nullptr);
  EXPECT_EQ(operations.setlk, nullptr);
  EXPECT_EQ(operations.flock, nullptr);
}

// libfuse would take it instead of write().
TEST(FuseOperations, WritesComeAsBytes) {
  EXPECT_EQ(fuse_operations().write_buf, nullptr);
  EXPECT_NE(fuse_operations().write, nullptr);
}

TEST(FuseOperations, StatfsCountsInBlocksAndEachFreeBlockMayBecomeAnInode) {
  AskedFilesystem asked;
  asked.file("f");
  const SpaceReport space = value_of(asked.fs->space());

  const auto answer = asked.kernel.ask(FUSE_STATFS, kRootInode).as<fuse_statfs_out>().st;

  EXPECT_EQ(answer.bsize, 4096u);
  EXPECT_EQ(answer.frsize, 4096u);
  EXPECT_EQ(answer.blocks, space.total_bytes / 4096);
  EXPECT_NEAR(static_cast<double>(answer.bavail), static_cast<double>(space.available_bytes / 4096), 16384.0);
  EXPECT_EQ(answer.bfree, answer.bavail);
  EXPECT_EQ(answer.ffree, answer.bavail);
  EXPECT_EQ(answer.files - answer.ffree, 2u);
  EXPECT_EQ(answer.namelen, 255u);
}

TEST(FuseOperations, TheFirstRequestTellsThatTheMountIsConnected) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  int times = 0;
  mount.when_connected([&] { ++times; });

  const FakeKernel kernel(mount);

  EXPECT_EQ(times, 1);
}

TEST(FuseOperations, AFailureOfWhoIsToldDoesNoHarm) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  mount.when_connected([] { throw std::bad_alloc(); });
  FakeKernel kernel(mount);

  EXPECT_EQ(kernel.ask(FUSE_GETATTR, kRootInode, raw(fuse_getattr_in{})).error, 0);
}

TEST(FuseOperations, WhatIsNotImplementedIsSaidSo) {
  AskedFilesystem asked;

  EXPECT_EQ(asked.kernel.ask(FUSE_BMAP, asked.file("f"), raw(fuse_bmap_in{})).error, ENOSYS);
}

}  // namespace
}  // namespace dedupfs
