#include "mount/fuse/kernel_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_kernel.h"
#include "support/units.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

fuse_conn_info connection_with(unsigned capable, unsigned want) {
  fuse_conn_info connection{};
  connection.proto_major = 7;
  connection.proto_minor = 45;
  connection.capable = capable;
  connection.want = want;
  connection.max_write = 1 << 20;
  connection.max_readahead = 4 << 20;
  connection.max_background = 64;
  return connection;
}

TEST(KernelConnection, NamesWhatIsOfferedAndWhatIsUsed) {
  const auto known = kernel_connection_of(
      connection_with(FUSE_CAP_SPLICE_READ | FUSE_CAP_POSIX_ACL | FUSE_CAP_ASYNC_DIO, FUSE_CAP_POSIX_ACL),
      FuseProtocol{7, 38});

  EXPECT_THAT(known.offered, ElementsAre("async_dio", "posix_acl", "splice_read"));
  EXPECT_THAT(known.used, ElementsAre("posix_acl"));
  EXPECT_EQ(known.kernel_protocol, (FuseProtocol{7, 45}));
  EXPECT_EQ(known.daemon_protocol, (FuseProtocol{7, 38}));
  EXPECT_EQ(known.libfuse_version, fuse_pkgversion());
  EXPECT_EQ(known.largest_read_ahead_bytes, 4u * kMiB);
  EXPECT_EQ(known.max_background, 64u);
  EXPECT_FALSE(known.io_uring);
}

TEST(KernelConnection, EveryCapabilityHasANameInAlphabeticalOrder) {
  const auto all = kernel_connection_of(connection_with(UINT32_MAX, 0), {}).offered;

  EXPECT_GE(all.size(), 23u);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

// What the daemon can take, or what the kernel can send.
TEST(KernelConnection, TheLargestRequestIsThatOfTheSmallerSide) {
  fuse_conn_info connection = connection_with(0, 0);
  connection.max_write = 64 << 10;
  EXPECT_EQ(kernel_connection_of(connection, {}).largest_request_bytes, 64u << 10);
  connection.max_write = UINT32_MAX;
  EXPECT_EQ(kernel_connection_of(connection, {}).largest_request_bytes, largest_request_of_kernel());
  EXPECT_GE(largest_request_of_kernel(), 4u << 10);
}

TEST(KernelConnection, TheLibraryTellsItsProtocolAndNothingOnStandardOutput) {
  testing::internal::CaptureStdout();

  const auto protocol = protocol_of_libfuse();

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(protocol);
  EXPECT_EQ(protocol->major, 7u);
  EXPECT_GE(protocol->minor, 31u);
}

TEST(KernelConnection, IsKnownOnceTheKernelHasAsked) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  EXPECT_FALSE(mount.kernel_connection());

  const FakeKernel kernel(mount, 38);

  const auto known = mount.kernel_connection();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->kernel_protocol, (FuseProtocol{7, 38}));
  EXPECT_EQ(known->largest_request_bytes,
            std::min<std::uint64_t>(kernel.init().max_write, largest_request_of_kernel()));
  EXPECT_THAT(known->used, Contains("posix_acl"));
  EXPECT_THAT(known->used, Not(Contains("writeback_cache")));
  EXPECT_THAT(known->offered, Contains("writeback_cache"));
}

}  // namespace
}  // namespace dedupfs
