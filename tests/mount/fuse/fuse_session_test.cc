// A session whose kernel is a socket: libfuse takes a descriptor that is mounted already.
#include "mount/fuse/fuse_session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/unique_fd.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

struct FuseSessionTest : testing::Test {
  TestFilesystem fs;
  FuseMount mount{*fs, {}};
  UniqueFd kernel;
  std::unique_ptr<FuseSession> session;

  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    kernel = UniqueFd(ends[0]);
    const int room = 4 << 20;
    for (const int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    // The session closes it.
    session = value_of(FuseSession::mount(mount, "/dev/fd/" + std::to_string(ends[1]), "/srv/volume"));
  }

  template <class T>
  void tell(fuse_opcode operation, std::uint64_t request, InodeNumber inode, const T& arguments) const {
    fuse_in_header header{};
    header.len = sizeof header + sizeof arguments;
    header.opcode = operation;
    header.unique = request;
    header.nodeid = inode;
    std::string message(reinterpret_cast<const char*>(&header), sizeof header);
    message.append(reinterpret_cast<const char*>(&arguments), sizeof arguments);
    ASSERT_EQ(::send(kernel.get(), message.data(), message.size(), MSG_NOSIGNAL), static_cast<ssize_t>(message.size()));
  }
  fuse_out_header answer() const {
    char buffer[4096];
    fuse_out_header header{};
    const ssize_t count = ::recv(kernel.get(), buffer, sizeof buffer, 0);
    EXPECT_GE(count, static_cast<ssize_t>(sizeof header));
    std::memcpy(&header, buffer, sizeof header);
    return header;
  }
  void connect() const {
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = 38;
    tell(FUSE_INIT, 1, 0, init);
    const fuse_out_header header = answer();
    EXPECT_EQ(header.unique, 1u);
    EXPECT_EQ(header.error, 0);
  }
};

TEST_F(FuseSessionTest, ServesRequestsUntilItIsStopped) {
  Result<void> ended = Error{ErrorCode::kIo, "it runs"};
  std::thread loop([&] { ended = session->run(4); });
  connect();
  for (std::uint64_t request = 2; request < 10; ++request) {
    tell(FUSE_GETATTR, request, kRootInode, fuse_getattr_in{});
    const fuse_out_header header = answer();
    EXPECT_EQ(header.unique, request);
    EXPECT_EQ(header.error, 0);
  }

  session->stop();
  loop.join();

  EXPECT_TRUE(ok(ended));
}

TEST_F(FuseSessionTest, IsStoppedThoughNoRequestEverCame) {
  std::thread loop([&] { EXPECT_TRUE(ok(session->run(1))); });

  session->stop();

  loop.join();
}

TEST_F(FuseSessionTest, WhereTheKernelFailsTheErrorIsSaid) {
  kernel.reset();

  const auto ended = session->run(2);

  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message(), HasSubstr("the FUSE loop ended"));
}

TEST(FuseSession, WhereNothingCanBeMountedTheReasonIsSaid) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});

  const auto session = FuseSession::mount(mount, fs.path() / "missing", "/srv/volume");

  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message(), HasSubstr("cannot mount at " + (fs.path() / "missing").string()));
}

}  // namespace
}  // namespace dedupfs
