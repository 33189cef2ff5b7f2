// Writes through the kernel's page cache and past it, and which pages the kernel must drop when.
#include "mount/fuse/fuse_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kDirect = 1;  // a lock owner

struct WrittenFile : AskedFilesystem {
  explicit WrittenFile(unsigned minor = FakeKernel::kMinorOfLinux65) : AskedFilesystem({}, minor) {
    EXPECT_TRUE(ok(fs->sync()));
  }
  ~WrittenFile() { release(inode, fh); }

  const InodeNumber inode = file("f", "content");
  std::uint64_t fh = open(inode, O_WRONLY);
  InodeUse& use() const { return *handle(fh).use; }
};

void expect_dropped(const FakeKernel::Answer& message, InodeNumber inode, std::int64_t offset, std::int64_t length) {
  ASSERT_EQ(message.request, 0u);
  ASSERT_EQ(message.error, FUSE_NOTIFY_INVAL_INODE);
  const auto dropped = message.as<fuse_notify_inval_inode_out>();
  EXPECT_EQ(dropped.ino, inode);
  EXPECT_EQ(dropped.off, offset);
  EXPECT_EQ(dropped.len, length);
}

TEST(FuseWrite, PutsTheBytesInTheFileAndSaysHowMany) {
  WrittenFile written;

  EXPECT_EQ(written.write(written.inode, written.fh, 3, "TENTS", kDirect).as<fuse_write_out>().size, 5u);

  EXPECT_EQ(written.fs.content(written.inode), "conTENTS");
  EXPECT_TRUE(written.kernel.rest().empty()) << "the kernel has no pages";
}

TEST(FuseWrite, OnlySynchronousWritesAreDurableWhenTheyAreAnswered) {
  for (const auto& [sync, flags, durable] :
       {std::tuple{false, O_WRONLY, false}, {true, O_WRONLY, true}, {false, O_WRONLY | O_DSYNC, true}}) {
    WrittenFile written;
    written.mount.set_synchronous(sync, false);

    ASSERT_EQ(written.write(written.inode, written.fh, 0, "CON", kDirect, flags).error, 0);

    EXPECT_EQ(written.fs.after_crash()->content(written.inode), durable ? "CONtent" : "content");
  }
}

TEST(FuseWrite, AWriteThroughTheCacheLeavesItsMark) {
  AskedFilesystem asked;
  const InodeNumber inode = asked.file("f", "content");
  const std::uint64_t first = asked.open(inode, O_RDWR | O_DIRECT);
  ASSERT_FALSE(AskedFilesystem::handle(first).use->kernel_caches);

  ASSERT_EQ(asked.write(inode, first, 0, "CON").error, 0);

  EXPECT_TRUE(AskedFilesystem::handle(first).use->kernel_caches);
  asked.release(inode, first);
}

// From Linux 6.6 on the kernel writes changed pages out before a direct write.
TEST(FuseWrite, ADirectWriteDropsThePagesBeforeItIsAnswered) {
  WrittenFile written(FakeKernel::kMinorOfLinux66);
  written.use().note_cached();

  const auto answer = written.write(written.inode, written.fh, 2, "NT", kDirect);

  EXPECT_EQ(answer.error, 0);
  const auto before = written.kernel.rest();
  ASSERT_EQ(before.size(), 1u) << "it came before the answer";
  expect_dropped(before[0], written.inode, 2, 2);
  EXPECT_EQ(written.fs.content(written.inode), "coNTent");
}

// Pages that were changed through a mapping go out first, or they would be written over this write.
TEST(FuseWrite, OlderKernelsDropThePagesBeforeTheWriteAndAfterIt) {
  WrittenFile written;
  written.use().note_cached();

  const auto answer = written.write(written.inode, written.fh, 2, "NT", kDirect);

  EXPECT_EQ(answer.error, 0);
  const auto before = written.kernel.rest();
  ASSERT_EQ(before.size(), 2u);
  for (const FakeKernel::Answer& message : before) expect_dropped(message, written.inode, 2, 2);
  EXPECT_EQ(written.fs.content(written.inode), "coNTent");
}

// A direct write that runs at the same time may have let a reader fill the page with older bytes.
TEST(FuseWrite, AWriteThroughTheCacheBesideAsynchronousOnesDropsItsPageAfterwards) {
  WrittenFile written;
  ASSERT_EQ(written.write(written.inode, written.fh, 0, "C", kDirect, O_WRONLY | O_DIRECT).error, 0);
  ASSERT_TRUE(written.use().async_writes);
  const std::uint64_t other = written.open(written.inode, O_RDWR | O_NOATIME);

  ASSERT_EQ(written.write(written.inode, other, 1, "O").error, 0);

  expect_dropped(written.kernel.await_invalidation(), written.inode, 1, 1);
  written.release(written.inode, other);
}

TEST(FuseWrite, WithoutThemItsPageStays) {
  WrittenFile written;
  const std::uint64_t other = written.open(written.inode, O_RDWR | O_NOATIME);

  ASSERT_EQ(written.write(written.inode, other, 1, "O").error, 0);

  written.mount.finish_invalidations();
  EXPECT_TRUE(written.kernel.rest().empty());
  written.release(written.inode, other);
}

// The page has bytes that the file has not.
TEST(FuseWrite, AWriteThroughTheCacheThatFailsDropsItsPage) {
  WrittenFile written;
  const std::uint64_t other = written.open(written.inode, O_RDWR | O_NOATIME);

  EXPECT_EQ(written.write(written.inode, other, kMaxFileBytes - 1, "too far").error, EFBIG);

  expect_dropped(written.kernel.await_invalidation(), written.inode, static_cast<std::int64_t>(kMaxFileBytes - 1), 7);
  EXPECT_EQ(written.fs.content(written.inode), "content");
  written.release(written.inode, other);
}

TEST(FuseWrite, ADirectWriteThatFailsIsAnswered) {
  for (const bool cached : {false, true}) {
    WrittenFile written;
    if (cached) written.use().note_cached();

    EXPECT_EQ(written.write(written.inode, written.fh, kMaxFileBytes - 1, "too far", kDirect).error, EFBIG);
  }
}

// After a write the kernel asks for sizes and times again, but not for the mode.
TEST(FuseWrite, SetIdBitsAreClearedAndTheKernelForgetsTheMode) {
  WrittenFile written;
  ASSERT_TRUE(ok(written.fs->set_attributes(written.inode, {.mode = 04755}, {})));
  written.kernel.become(1000, 1000);

  ASSERT_EQ(written.write(written.inode, written.fh, 0, "C", kDirect).error, 0);

  EXPECT_EQ(written.fs.attributes(written.inode).mode, std::uint32_t{S_IFREG | 0755});
  expect_dropped(written.kernel.await_invalidation(), written.inode, -1, 0);
}

}  // namespace
}  // namespace dedupfs
