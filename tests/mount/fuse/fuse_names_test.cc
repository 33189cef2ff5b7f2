// Requests that look names up and change them.
#include <gtest/gtest.h>

#include <cerrno>

#include "fake_kernel.h"
#include "mount/fuse/fuse_entries.h"

namespace dedupfs {
namespace {

struct FuseNames : testing::Test {
  AskedFilesystem asked;
  FakeKernel& kernel = asked.kernel;
  TestFilesystem& fs = asked.fs;

  int rename(std::string_view from, std::string_view to, unsigned flags) {
    fuse_rename2_in wanted{};
    wanted.newdir = kRootInode;
    wanted.flags = flags;
    return kernel.ask(FUSE_RENAME2, kRootInode, raw(wanted) + c_string(from) + c_string(to)).error;
  }
};

TEST_F(FuseNames, ANameThatIsThereIsAnsweredWithItsInode) {
  const InodeNumber inode = asked.file("f", "content");

  const auto entry = asked.lookup(kRootInode, "f").as<fuse_entry_out>();

  EXPECT_EQ(entry.nodeid, inode);
  EXPECT_EQ(entry.attr.size, 7u);
  EXPECT_EQ(entry.generation, 1u);
  asked.forget(inode);
}

// The kernel need not ask again for what it knows to be missing.
TEST_F(FuseNames, AMissingNameIsRemembered) {
  const auto entry = asked.lookup(kRootInode, "missing").as<fuse_entry_out>();

  EXPECT_EQ(entry.nodeid, 0u);
  EXPECT_EQ(entry.entry_valid, static_cast<std::uint64_t>(kValidSeconds));
}

TEST_F(FuseNames, AMissingSnapshotIsNotRemembered) {
  const auto entry = asked.lookup(kSnapshotsInode, "missing").as<fuse_entry_out>();

  EXPECT_EQ(entry.nodeid, 0u);
  EXPECT_EQ(entry.entry_valid, 0u);
}

TEST_F(FuseNames, OtherErrorsOfALookupAreAnswered) {
  EXPECT_EQ(asked.lookup(asked.file("f"), "below a file").error, ENOTDIR);
  EXPECT_EQ(asked.lookup(kRootInode, std::string(256, 'x')).error, ENAMETOOLONG);
}

TEST_F(FuseNames, AnInodeIsKeptUntilAllItsReferencesAreForgotten) {
  const InodeNumber inode = asked.file("f", "content");
  asked.lookup(kRootInode, "f");
  asked.lookup(kRootInode, "f");
  ASSERT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("f")).error, 0);

  asked.forget(inode, 1);
  EXPECT_EQ(kernel.ask(FUSE_GETATTR, inode, raw(fuse_getattr_in{})).as<fuse_attr_out>().attr.nlink, 0u);
  asked.forget(inode, 1);
  EXPECT_TRUE(fs.inodes_become(1));
}

TEST_F(FuseNames, ManyReferencesAreForgottenAtOnce) {
  const InodeNumber one = asked.file("one");
  const InodeNumber two = asked.file("two");
  for (const char* name : {"one", "two", "two"}) asked.lookup(kRootInode, name);
  ASSERT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("one")).error, 0);
  ASSERT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("two")).error, 0);

  fuse_batch_forget_in wanted{};
  wanted.count = 2;
  kernel.tell(FUSE_BATCH_FORGET, 0, raw(wanted) + raw(fuse_forget_one{one, 1}) + raw(fuse_forget_one{two, 2}));

  EXPECT_TRUE(fs.inodes_become(1));
}

TEST_F(FuseNames, NodesAreMadeForTheCallerAndWithHisMask) {
  kernel.become(4711, 4712);
  fuse_mknod_in node{};
  node.mode = S_IFIFO | 0666;
  node.umask = 027;
  fuse_mkdir_in directory{};
  directory.mode = 0777;
  directory.umask = 027;

  const auto fifo = kernel.ask(FUSE_MKNOD, kRootInode, raw(node) + c_string("fifo")).as<fuse_entry_out>();
  const auto folder = kernel.ask(FUSE_MKDIR, kRootInode, raw(directory) + c_string("folder")).as<fuse_entry_out>();

  EXPECT_EQ(fifo.attr.mode, std::uint32_t{S_IFIFO | 0640});
  EXPECT_EQ(folder.attr.mode, std::uint32_t{S_IFDIR | 0750});
  for (const fuse_entry_out& made : {fifo, folder}) {
    EXPECT_EQ(made.attr.uid, 4711u);
    EXPECT_EQ(made.attr.gid, 4712u);
  }
}

TEST_F(FuseNames, ASymbolicLinkLeadsWhereItWasTold) {
  const auto link =
      kernel.ask(FUSE_SYMLINK, kRootInode, c_string("link") + c_string("some/target")).as<fuse_entry_out>();

  EXPECT_EQ(link.attr.mode & S_IFMT, std::uint32_t{S_IFLNK});
  EXPECT_EQ(kernel.ask(FUSE_READLINK, link.nodeid).bytes, "some/target");
  EXPECT_EQ(kernel.ask(FUSE_READLINK, kRootInode).error, EINVAL);
}

TEST_F(FuseNames, ALinkIsASecondName) {
  const InodeNumber inode = asked.file("f");

  const auto linked = kernel.ask(FUSE_LINK, kRootInode, raw(fuse_link_in{inode}) + c_string("g")).as<fuse_entry_out>();

  EXPECT_EQ(linked.nodeid, inode);
  EXPECT_EQ(linked.attr.nlink, 2u);
  EXPECT_EQ(kernel.ask(FUSE_LINK, kRootInode, raw(fuse_link_in{inode}) + c_string("g")).error, EEXIST);
}

TEST_F(FuseNames, UnlinkAndRmdirTakeTheirOwnKind) {
  asked.file("file");
  fs.make_directory(kRootInode, "folder");

  EXPECT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("folder")).error, EISDIR);
  EXPECT_EQ(kernel.ask(FUSE_RMDIR, kRootInode, c_string("file")).error, ENOTDIR);
  EXPECT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("file")).error, 0);
  EXPECT_EQ(kernel.ask(FUSE_RMDIR, kRootInode, c_string("folder")).error, 0);
  EXPECT_EQ(fs.names(kRootInode).size(), 2u) << ". and ..";
}

TEST_F(FuseNames, EachFlagOfARenameDoesWhatItSays) {
  const InodeNumber one = asked.file("one");
  const InodeNumber two = asked.file("two");

  EXPECT_EQ(rename("one", "two", RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename("one", "two", RENAME_EXCHANGE), 0);
  EXPECT_EQ(value_of(fs.find("one")), two);
  EXPECT_EQ(value_of(fs.find("two")), one);
  EXPECT_EQ(rename("one", "three", RENAME_WHITEOUT), 0);
  const auto whiteout = asked.lookup(kRootInode, "one").as<fuse_entry_out>();
  EXPECT_EQ(whiteout.attr.mode & S_IFMT, std::uint32_t{S_IFCHR});
  EXPECT_EQ(rename("two", "three", RENAME_WHITEOUT | RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename("two", "three", 0), 0);
  EXPECT_EQ(value_of(fs.find("three")), one);
  EXPECT_FALSE(fs.find("two"));
}

TEST_F(FuseNames, UnknownFlagsOfARenameChangeNothing) {
  asked.file("one");

  EXPECT_EQ(rename("one", "two", RENAME_EXCHANGE | RENAME_NOREPLACE), EINVAL);
  EXPECT_EQ(rename("one", "two", 1u << 20), EINVAL);

  EXPECT_TRUE(fs.find("one"));
  EXPECT_FALSE(fs.find("two"));
}

}  // namespace
}  // namespace dedupfs
