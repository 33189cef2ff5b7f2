// Requests that list directories.
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

struct Listed {
  std::string name;
  InodeNumber inode = 0;
  std::uint64_t cookie = 0;
  std::uint32_t type = 0;
  InodeNumber counted = 0;  // of READDIRPLUS: whom the kernel has a reference to now
};

struct FuseDirectories : testing::Test {
  AskedFilesystem asked;
  FakeKernel& kernel = asked.kernel;
  const InodeNumber file = asked.file("file", "content");
  const InodeNumber folder = [this] {
    const InodeNumber made = asked.fs.make_directory(kRootInode, "folder");
    asked.fs->forget(made, 1);
    return made;
  }();
  std::uint64_t fh = open(0);

  ~FuseDirectories() override { release(fh); }

  std::uint64_t open(int flags) {
    fuse_open_in wanted{};
    wanted.flags = static_cast<std::uint32_t>(O_DIRECTORY | flags);
    return kernel.ask(FUSE_OPENDIR, kRootInode, raw(wanted)).as<fuse_open_out>().fh;
  }
  void release(std::uint64_t handle) {
    fuse_release_in wanted{};
    wanted.fh = handle;
    EXPECT_EQ(kernel.ask(FUSE_RELEASEDIR, kRootInode, raw(wanted)).error, 0);
  }
  FakeKernel::Answer ask(fuse_opcode operation, std::uint64_t cookie, std::uint32_t room) {
    fuse_read_in wanted{};
    wanted.fh = fh;
    wanted.offset = cookie;
    wanted.size = room;
    return kernel.ask(operation, kRootInode, raw(wanted));
  }
  static Listed entry_at(const FakeKernel::Answer& answer, std::size_t& at) {
    const auto head = answer.as<fuse_dirent>(at);
    Listed listed{.name = answer.bytes.substr(at + FUSE_NAME_OFFSET, head.namelen),
                  .inode = head.ino,
                  .cookie = head.off,
                  .type = head.type};
    at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + head.namelen);
    return listed;
  }
  std::vector<Listed> list(std::uint64_t cookie = 0, std::uint32_t room = 4096) {
    const auto answer = ask(FUSE_READDIR, cookie, room);
    std::vector<Listed> entries;
    for (std::size_t at = 0; at < answer.bytes.size();) entries.push_back(entry_at(answer, at));
    return entries;
  }
  std::vector<Listed> list_counted() {
    const auto answer = ask(FUSE_READDIRPLUS, 0, 4096);
    std::vector<Listed> entries;
    for (std::size_t at = 0; at < answer.bytes.size();) {
      const auto entry = answer.as<fuse_entry_out>(at);
      at += sizeof entry;
      entries.push_back(entry_at(answer, at));
      entries.back().counted = entry.nodeid;
    }
    return entries;
  }
  static std::vector<std::string> names_of(const std::vector<Listed>& entries) {
    std::vector<std::string> names;
    for (const Listed& entry : entries) names.push_back(entry.name);
    return names;
  }
};

TEST_F(FuseDirectories, AllNamesAreListedWithInodeAndType) {
  const auto entries = list();

  ASSERT_EQ(names_of(entries), (std::vector<std::string>{".", "..", "file", "folder"}));
  EXPECT_EQ(entries[0].inode, kRootInode);
  EXPECT_EQ(entries[2].inode, file);
  EXPECT_EQ(entries[2].type, std::uint32_t{S_IFREG >> 12});
  EXPECT_EQ(entries[3].inode, folder);
  EXPECT_EQ(entries[3].type, std::uint32_t{S_IFDIR >> 12});
}

TEST_F(FuseDirectories, AListGoesOnWhereTheRoomEnded) {
  std::vector<std::string> names;
  std::uint64_t cookie = 0;
  for (auto entries = list(cookie, 40); !entries.empty(); entries = list(cookie, 40)) {
    ASSERT_EQ(entries.size(), 1u) << "there is room for one";
    names.push_back(entries[0].name);
    cookie = entries[0].cookie;
  }

  EXPECT_EQ(names, (std::vector<std::string>{".", "..", "file", "folder"}));
}

TEST_F(FuseDirectories, WithAttributesEachEntryCountsAReferenceButThoseOfDots) {
  const auto entries = list_counted();

  ASSERT_EQ(names_of(entries), (std::vector<std::string>{".", "..", "file", "folder"}));
  EXPECT_EQ(entries[0].counted, 0u);
  EXPECT_EQ(entries[1].counted, 0u);
  EXPECT_EQ(entries[2].counted, file);
  ASSERT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("file")).error, 0);
  EXPECT_EQ(kernel.ask(FUSE_GETATTR, file, raw(fuse_getattr_in{})).error, 0) << "the kernel has it still";
  asked.forget(file);
  EXPECT_TRUE(asked.fs.inodes_become(2));
}

// One for which there was no room is not handed out.
TEST_F(FuseDirectories, AnEntryThatDidNotFitCountsNoReference) {
  const std::uint32_t room_for_three = 3 * (sizeof(fuse_entry_out) + 32);
  const auto answer = ask(FUSE_READDIRPLUS, 0, room_for_three);
  ASSERT_EQ(answer.bytes.size(), room_for_three) << ". and .. and file, and not folder";

  ASSERT_EQ(kernel.ask(FUSE_RMDIR, kRootInode, c_string("folder")).error, 0);

  EXPECT_TRUE(asked.fs.inodes_become(2));
  asked.forget(file);
}

TEST_F(FuseDirectories, ReferencesOfAnAnswerThatNobodyTookAreReturned) {
  kernel.kill_callers(true);
  ask(FUSE_READDIRPLUS, 0, 4096);
  kernel.kill_callers(false);

  EXPECT_TRUE(asked.is_unreferenced("file"));
}

TEST_F(FuseDirectories, OnlyNoatimeKeepsTheTimeOfAccess) {
  const std::uint64_t quiet = open(O_NOATIME);

  EXPECT_TRUE(reinterpret_cast<DirectoryStream*>(fh)->notes_access);
  EXPECT_FALSE(reinterpret_cast<DirectoryStream*>(quiet)->notes_access);

  release(quiet);
}

TEST_F(FuseDirectories, AFileCannotBeListed) {
  fuse_read_in wanted{};
  wanted.fh = fh;
  wanted.size = 4096;

  EXPECT_EQ(kernel.ask(FUSE_READDIR, file, raw(wanted)).error, ENOTDIR);
}

}  // namespace
}  // namespace dedupfs
