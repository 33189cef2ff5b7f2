#include "mount/fuse/fuse_mount.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fake_kernel.h"
#include "support/units.h"

namespace dedupfs {
namespace {

fuse_conn_info negotiated(FuseMount& mount, unsigned capable, unsigned wanted, unsigned minor = 38) {
  fuse_conn_info connection{};
  connection.proto_major = 7;
  connection.proto_minor = minor;
  connection.capable = capable;
  connection.want = wanted;
  mount.negotiate(connection);
  return connection;
}

TEST(FuseMount, WantsNothingThatTheKernelDoesNotHave) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});

  EXPECT_EQ(negotiated(mount, 0, 0).want, 0u);
  const unsigned some = FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK;
  EXPECT_EQ(negotiated(mount, some, 0).want, some);
}

// libfuse wants some of them by itself.
TEST(FuseMount, RefusesWhatWouldTakeOrderAndAccountingFromTheChunker) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});

  const unsigned want = negotiated(mount, UINT32_MAX, UINT32_MAX).want;

  for (const std::uint32_t refused :
       std::initializer_list<std::uint32_t>{FUSE_CAP_WRITEBACK_CACHE, FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_HANDLE_KILLPRIV,
                                            FUSE_CAP_AUTO_INVAL_DATA, FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE})
    EXPECT_EQ(want & refused, 0u) << refused;
  EXPECT_TRUE(want & FUSE_CAP_ASYNC_READ);
}

#ifdef FUSE_CAP_OVER_IO_URING
// libfuse wants it wherever the kernel has it, and uses it if the environment says so.
TEST(FuseMount, RefusesIoUring) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});

  EXPECT_EQ(negotiated(mount, UINT32_MAX, UINT32_MAX).want & FUSE_CAP_OVER_IO_URING, 0u);
  EXPECT_FALSE(mount.kernel_connection()->io_uring);
}
#endif

TEST(FuseMount, TheKernelLearnsOfItAllAtTheStart) {
  AskedFilesystem asked;
  const fuse_init_out& init = asked.kernel.init();

  EXPECT_EQ(init.major, 7u);
  EXPECT_EQ(init.max_write, 1u * kMiB);
  EXPECT_FALSE(init.flags & FUSE_WRITEBACK_CACHE);
  EXPECT_TRUE(init.flags & FUSE_POSIX_ACL);
}

TEST(FuseMount, ReadsAheadAsTheOptionsSayButNeverLessThanARequest) {
  TestFilesystem fs;
  for (const auto& [option, expected] : {std::pair{std::uint64_t{0}, 1u * kMiB}, {4 * kMiB, 4u * kMiB}}) {
    MountOptions options;
    options.read_ahead_bytes = option;
    FuseMount mount(*fs, options);
    EXPECT_EQ(negotiated(mount, 0, 0).max_readahead, expected);
  }
}

TEST(FuseMount, OldKernelsKeepPagesWhenADirectWritePassesThem) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  negotiated(mount, 0, 0, FakeKernel::kMinorOfLinux65);
  EXPECT_TRUE(mount.kernel_keeps_pages());
  negotiated(mount, 0, 0, FakeKernel::kMinorOfLinux66);
  EXPECT_FALSE(mount.kernel_keeps_pages());
}

struct DirectOpens : testing::Test {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "content");

  bool opens_directly(DirectIo option, int flags) {
    MountOptions options;
    options.direct_io = option;
    return FuseMount(*fs, options).opens_directly(file, flags);
  }
};

TEST_F(DirectOpens, AreThoseOfTheOption) {
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    EXPECT_FALSE(opens_directly(DirectIo::kOff, flags));
    EXPECT_TRUE(opens_directly(DirectIo::kAll, flags));
    EXPECT_EQ(opens_directly(DirectIo::kWriteOnly, flags), flags == O_WRONLY);
  }
}

// The first write clears their privileges, and the kernel does that for writes through its cache.
TEST_F(DirectOpens, PrivilegedFilesAreWrittenThroughTheCache) {
  for (const std::uint32_t mode : {04755u, 02755u}) {
    ASSERT_TRUE(ok(fs->set_attributes(file, {.mode = mode}, {})));
    EXPECT_FALSE(opens_directly(DirectIo::kWriteOnly, O_WRONLY)) << mode;
  }
  ASSERT_TRUE(ok(fs->set_attributes(file, {.mode = 0755}, {})));
  EXPECT_TRUE(opens_directly(DirectIo::kWriteOnly, O_WRONLY));
  ASSERT_TRUE(ok(fs->set_xattr(file, "security.capability", "x", Filesystem::XattrMode::kSet)));
  EXPECT_FALSE(opens_directly(DirectIo::kWriteOnly, O_WRONLY));
}

TEST_F(DirectOpens, OfAFileThatWasJustMadeItsModeDecides) {
  FuseMount mount(*fs, {});
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR})
    EXPECT_EQ(mount.opens_directly(Attributes{.mode = S_IFREG | 0755}, flags), flags == O_WRONLY);
  for (const std::uint32_t mode : {04755u, 02755u})
    EXPECT_FALSE(mount.opens_directly(Attributes{.mode = S_IFREG | mode}, O_WRONLY)) << mode;
}

TEST_F(DirectOpens, AFileThatIsNotThereIsOpenedAsUsual) {
  EXPECT_FALSE(FuseMount(*fs, {}).opens_directly(4711, O_WRONLY));
}

TEST(FuseMount, SyncIsForNamesToo) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  EXPECT_FALSE(mount.is_sync() || mount.is_dirsync());
  mount.set_synchronous(false, true);
  EXPECT_FALSE(mount.is_sync());
  EXPECT_TRUE(mount.is_dirsync());
  mount.set_synchronous(true, false);
  EXPECT_TRUE(mount.is_sync() && mount.is_dirsync());
}

TEST(FuseMount, TheKernelForgetsNamesAndContentThatChangedWithoutIt) {
  AskedFilesystem asked;

  asked.mount.invalidate(std::vector<ChangedName>{{kRootInode, "name"}, {7, std::nullopt}});

  const auto name = asked.kernel.await_invalidation(FUSE_NOTIFY_INVAL_ENTRY);
  EXPECT_EQ(name.as<fuse_notify_inval_entry_out>().parent, kRootInode);
  EXPECT_EQ(name.bytes.substr(sizeof(fuse_notify_inval_entry_out)), c_string("name"));
  const auto content = asked.kernel.await_invalidation().as<fuse_notify_inval_inode_out>();
  EXPECT_EQ(content.ino, 7u);
  EXPECT_EQ(content.off, 0);
  EXPECT_EQ(content.len, 0);
}

// The session may be gone.
TEST(FuseMount, NothingIsInvalidatedAfterTheEnd) {
  AskedFilesystem asked;
  asked.mount.finish_invalidations();

  asked.mount.invalidate(std::vector<ChangedName>{{kRootInode, "name"}});

  EXPECT_TRUE(asked.kernel.rest().empty());
}

}  // namespace
}  // namespace dedupfs
