// Requests for attributes and extended attributes.
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <cerrno>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

struct FuseAttributes : testing::Test {
  AskedFilesystem asked;
  FakeKernel& kernel = asked.kernel;
  TestFilesystem& fs = asked.fs;
  const InodeNumber file = asked.file("f", "content");

  FakeKernel::Answer set(const fuse_setattr_in& wanted) { return kernel.ask(FUSE_SETATTR, file, raw(wanted)); }
  int set_xattr(std::string_view name, std::string_view value, unsigned flags = 0) {
    std::string head(FUSE_COMPAT_SETXATTR_IN_SIZE, '\0');  // of the form without extensions
    const std::uint32_t fields[] = {static_cast<std::uint32_t>(value.size()), flags};
    std::memcpy(head.data(), fields, sizeof fields);
    return kernel.ask(FUSE_SETXATTR, file, head + c_string(name) + std::string(value)).error;
  }
  FakeKernel::Answer get_xattr(std::string_view name, std::uint32_t room) {
    fuse_getxattr_in wanted{};
    wanted.size = room;
    return kernel.ask(FUSE_GETXATTR, file, raw(wanted) + c_string(name));
  }
  std::string list_xattrs() {
    fuse_getxattr_in wanted{};
    wanted.size = 1000;
    return kernel.ask(FUSE_LISTXATTR, file, raw(wanted)).bytes;
  }
};

TEST_F(FuseAttributes, PublicQuestionsAreAnsweredForAnyFileAndAreNotListed) {
  asked.mount.answer_publicly({{"dedupfs.number", [] { return Result<std::string>("4711"); }}});
  kernel.become(1000, 1000);

  EXPECT_EQ(get_xattr("dedupfs.number", 0).as<fuse_getxattr_out>().size, 4u);
  EXPECT_EQ(get_xattr("dedupfs.number", 3).error, ERANGE);
  EXPECT_EQ(get_xattr("dedupfs.number", 100).bytes, "4711");
  EXPECT_EQ(get_xattr("dedupfs.other", 100).error, ENODATA);
  EXPECT_NE(set_xattr("dedupfs.number", "0"), 0);
  EXPECT_EQ(list_xattrs(), "");
}

TEST_F(FuseAttributes, AreThoseOfTheFile) {
  const auto attributes = kernel.ask(FUSE_GETATTR, file, raw(fuse_getattr_in{})).as<fuse_attr_out>();

  EXPECT_EQ(attributes.attr.ino, file);
  EXPECT_EQ(attributes.attr.size, 7u);
  EXPECT_EQ(kernel.ask(FUSE_GETATTR, 4711, raw(fuse_getattr_in{})).error, ESTALE);
}

TEST_F(FuseAttributes, OnlyWhatIsMarkedAsValidChanges) {
  fuse_setattr_in wanted{};
  wanted.valid = FATTR_UID | FATTR_MTIME;
  wanted.mode = 0777;
  wanted.uid = 11;
  wanted.gid = 12;
  wanted.size = 1;
  wanted.atime = 100;
  wanted.mtime = 200;
  wanted.mtimensec = 3;
  const Attributes before = fs.attributes(file);

  const auto reply = set(wanted).as<fuse_attr_out>();

  const Attributes after = fs.attributes(file);
  EXPECT_EQ(reply.attr.uid, 11u);
  EXPECT_EQ(after.uid, 11u);
  EXPECT_EQ(after.mtime, (Timestamp{.seconds = 200, .nanoseconds = 3}));
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_EQ(after.gid, before.gid);
  EXPECT_EQ(after.size, before.size);
  EXPECT_EQ(after.atime, before.atime);
}

TEST_F(FuseAttributes, AllThatIsMarkedAsValidChanges) {
  fuse_setattr_in wanted{};
  wanted.valid = FATTR_MODE | FATTR_GID | FATTR_SIZE | FATTR_ATIME | FATTR_CTIME;
  wanted.mode = S_IFREG | 0604;
  wanted.gid = 12;
  wanted.size = 3;
  wanted.atime = 100;
  wanted.ctime = 300;

  ASSERT_EQ(set(wanted).error, 0);

  const Attributes after = fs.attributes(file);
  EXPECT_EQ(after.mode, std::uint32_t{S_IFREG | 0604});
  EXPECT_EQ(after.gid, 12u);
  EXPECT_EQ(after.atime.seconds, 100);
  EXPECT_EQ(fs.content(file), "con");
}

TEST_F(FuseAttributes, NowIsTheTimeOfTheDaemon) {
  fuse_setattr_in wanted{};
  wanted.valid = FATTR_ATIME | FATTR_ATIME_NOW | FATTR_MTIME | FATTR_MTIME_NOW;
  wanted.atime = wanted.mtime = 100;
  const Timestamp before = Timestamp::now();

  ASSERT_EQ(set(wanted).error, 0);

  EXPECT_GE(fs.attributes(file).atime, before);
  EXPECT_GE(fs.attributes(file).mtime, before);
}

// A direct write takes these bits away, and the kernel has to learn of it.
TEST_F(FuseAttributes, SetIdBitsAreNotedForDirectWriters) {
  const std::uint64_t fh = asked.open(file, O_WRONLY);
  fuse_setattr_in wanted{};
  wanted.valid = FATTR_MODE;
  wanted.mode = 0755;
  ASSERT_EQ(set(wanted).error, 0);
  EXPECT_FALSE(AskedFilesystem::handle(fh).use->kernel_caches);

  wanted.mode = 04755;
  ASSERT_EQ(set(wanted).error, 0);

  EXPECT_TRUE(AskedFilesystem::handle(fh).use->kernel_caches);
  asked.release(file, fh);
}

// After a success the kernel drops them itself.
TEST_F(FuseAttributes, ATruncationThatFailsDropsThePages) {
  fuse_setattr_in wanted{};
  wanted.valid = FATTR_SIZE;
  wanted.size = 3;
  ASSERT_EQ(set(wanted).error, 0);
  EXPECT_TRUE(kernel.rest().empty());

  wanted.size = UINT64_MAX;
  EXPECT_EQ(set(wanted).error, EFBIG);

  const auto dropped = kernel.await_invalidation().as<fuse_notify_inval_inode_out>();
  EXPECT_EQ(dropped.ino, file);
  EXPECT_EQ(dropped.off, 0);
  EXPECT_EQ(dropped.len, 0) << "to the end";
}

TEST_F(FuseAttributes, WithSyncAChangeIsDurableWhenItIsAnswered) {
  ASSERT_TRUE(ok(fs->sync()));
  for (const bool sync : {false, true}) {
    asked.mount.set_synchronous(sync, false);
    fuse_setattr_in wanted{};
    wanted.valid = FATTR_UID;
    wanted.uid = 4711;
    ASSERT_EQ(set(wanted).error, 0);

    EXPECT_EQ(fs.after_crash()->attributes(file).uid == 4711, sync);
  }
}

TEST_F(FuseAttributes, XattrsAreMadeAndReplacedAsTheFlagsSay) {
  EXPECT_EQ(set_xattr("user.a", "one", XATTR_REPLACE), ENODATA);
  EXPECT_EQ(set_xattr("user.a", "one", XATTR_CREATE), 0);
  EXPECT_EQ(set_xattr("user.a", "two", XATTR_CREATE), EEXIST);
  EXPECT_EQ(set_xattr("user.a", "three", XATTR_REPLACE), 0);
  EXPECT_EQ(get_xattr("user.a", 100).bytes, "three");
  EXPECT_EQ(set_xattr("user.a", "four"), 0);
  EXPECT_EQ(get_xattr("user.a", 100).bytes, "four");
}

TEST_F(FuseAttributes, AnXattrCanBeRemovedOnce) {
  ASSERT_EQ(set_xattr("user.a", "one"), 0);

  EXPECT_EQ(kernel.ask(FUSE_REMOVEXATTR, file, c_string("user.a")).error, 0);
  EXPECT_EQ(kernel.ask(FUSE_REMOVEXATTR, file, c_string("user.a")).error, ENODATA);
  EXPECT_EQ(get_xattr("user.a", 100).error, ENODATA);
}

TEST_F(FuseAttributes, NamesOfTrustedXattrsAreShownToRootOnly) {
  ASSERT_EQ(set_xattr("user.a", "one"), 0);
  ASSERT_EQ(set_xattr("trusted.b", "two"), 0);

  EXPECT_EQ(list_xattrs(), c_string("trusted.b") + c_string("user.a"));
  kernel.become(1000, 1000);
  EXPECT_EQ(list_xattrs(), c_string("user.a"));
}

}  // namespace
}  // namespace dedupfs
