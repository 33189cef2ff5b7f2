#include "mount/control/control_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "control_ends.h"
#include "store/format/format.h"
#include "support/memory_disk.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using ::testing::HasSubstr;

bool connects(const ControlAddress& address) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), address.get(), sizeof address.address) == 0;
}

TEST(ControlAddress, LeadsFromTheClientToTheServer) {
  const TempDir volume;
  const UniqueFd listener = silent_socket(volume.path());

  const auto address = ControlAddress::of(volume.path());

  ASSERT_TRUE(address);
  EXPECT_TRUE(connects(*address));
  EXPECT_EQ(address->volume_owner, ::geteuid());
}

TEST(ControlAddress, NamesTheOwnerOfTheFolderAndNotThatOfTheSocket) {
  if (::geteuid() != 0) GTEST_SKIP() << "another owner needs root";
  const TempDir volume;
  const UniqueFd listener = silent_socket(volume.path());
  ASSERT_EQ(::chown(volume.path().c_str(), 4711, 4711), 0);

  EXPECT_EQ(ControlAddress::of(volume.path())->volume_owner, 4711u);
}

TEST(ControlAddress, WhereThereIsNoSocketOrNoFolderIsNotFound) {
  const TempDir volume;

  EXPECT_EQ(ControlAddress::of(volume.path()).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(ControlAddress::of(volume.path() / "missing").error().code(), ErrorCode::kNotFound);
}

// The folder in which somebody happens to stand may be another user's.
TEST(ControlAddress, TheAddressOfABucketIsNoFolder) {
  const TempDir here;
  const Path volume = here.path() / "s3:" / "bucket";
  std::filesystem::create_directories(volume);
  const UniqueFd listener = silent_socket(volume);
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());

  const auto address = ControlAddress::of("s3://bucket");

  std::filesystem::current_path(before);
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code(), ErrorCode::kNotFound);
}

TEST(ControlAddress, AFileInItsPlaceIsNoSocket) {
  const TempDir volume;
  std::ofstream(volume.path() / kControlSocket) << "no socket";

  const auto address = ControlAddress::of(volume.path());

  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(address.error().message(), HasSubstr("is not a socket"));
}

TEST(ControlAddress, AVolumeThatIsAFileIsNoFolder) {
  const TempDir directory;
  std::ofstream(directory.path() / "file") << "no folder";

  EXPECT_EQ(ControlAddress::of(directory.path() / "file").error().code(), ErrorCode::kNotDirectory);
}

// Somebody moves the folder between the look and the connection, and puts his own in its place.
TEST(ControlAddress, StaysWithTheSocketThatItFound) {
  const TempDir directory;
  const Path volume = directory.path() / "volume";
  const UniqueFd listener = silent_socket(volume);
  const auto address = ControlAddress::of(volume);
  ASSERT_TRUE(address);

  std::filesystem::rename(volume, directory.path() / "moved");
  std::filesystem::create_directory(volume);

  EXPECT_TRUE(connects(*address));
}

TEST(ControlAddress, AFolderWithoutADescriptorCannotHoldASocket) {
  const auto disk = std::make_shared<MemoryDisk>();
  ASSERT_TRUE(disk->make_directory("/volume"));
  const auto folder = disk->open_root("/volume");
  ASSERT_TRUE(folder);

  const auto address = ControlAddress::in(**folder);

  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code(), ErrorCode::kUnsupported);
}

TEST(ControlAddress, WorksWherePathsAreLongerThanAddresses) {
  const TempDir directory;
  const Path volume = directory.path() / std::string(200, 'v') / std::string(200, 'w');
  std::filesystem::create_directories(volume);

  const auto server = start_server(volume);

  EXPECT_TRUE(control_request(volume, {{"command", "echo"}, {"text", "x"}}));
}

TEST(ControlAddress, ALinkInItsPlaceIsNotFollowed) {
  const TempDir volume;
  const TempDir other;
  const auto server = start_server(other.path());
  std::filesystem::create_symlink(other.path() / kControlSocket, volume.path() / kControlSocket);

  const auto client = ControlClient::connect(volume.path());

  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message(), HasSubstr("is not a socket"));
}

TEST(ControlAddress, ThePeerIsTheProcessAtTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);

  const auto peer = peer_of(one.get());

  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_FALSE(peer_of(-1));
}

}  // namespace
}  // namespace dedupfs
