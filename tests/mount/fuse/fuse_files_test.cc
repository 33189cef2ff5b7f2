// Requests that open, read and change files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>

#include <cerrno>

#include "fake_kernel.h"

namespace dedupfs {
namespace {

struct FuseFiles : testing::Test {
  AskedFilesystem asked;
  FakeKernel& kernel = asked.kernel;
  TestFilesystem& fs = asked.fs;
  const InodeNumber file = asked.file("f", "content");

  FakeKernel::Answer try_open(InodeNumber inode, int flags) {
    fuse_open_in wanted{};
    wanted.flags = static_cast<std::uint32_t>(flags);
    return kernel.ask(FUSE_OPEN, inode, raw(wanted));
  }
  int allocate(std::uint64_t fh, unsigned mode, std::uint64_t offset, std::uint64_t length) {
    fuse_fallocate_in wanted{};
    wanted.fh = fh;
    wanted.offset = offset;
    wanted.length = length;
    wanted.mode = mode;
    return kernel.ask(FUSE_FALLOCATE, file, raw(wanted)).error;
  }
  FakeKernel::Answer seek(std::uint64_t offset, int whence) {
    fuse_lseek_in wanted{};
    wanted.offset = offset;
    wanted.whence = static_cast<std::uint32_t>(whence);
    return kernel.ask(FUSE_LSEEK, file, raw(wanted));
  }
};

TEST_F(FuseFiles, WriteOnlyFilesPassThePageCacheAndOthersUseIt) {
  for (const auto& [flags, direct, flushed] :
       {std::tuple{O_RDONLY, false, false}, {O_WRONLY, true, true}, {O_RDWR, false, true}}) {
    const auto opened = try_open(file, flags).as<fuse_open_out>();

    EXPECT_EQ((opened.open_flags & FOPEN_DIRECT_IO) != 0, direct) << flags;
    EXPECT_EQ((opened.open_flags & FOPEN_NOFLUSH) == 0, flushed) << flags;
    EXPECT_EQ(asked.mount.open_files().has_writer(file), flushed) << flags;
    asked.release(file, opened.fh);
  }
  EXPECT_FALSE(asked.mount.open_files().has_writer(file));
}

// The kernel may have pages of an earlier time, and direct writes would not change them.
TEST_F(FuseFiles, OnlyAFirstDirectWriterDropsThePagesAtItsOpening) {
  const auto writer = try_open(file, O_WRONLY).as<fuse_open_out>();
  EXPECT_FALSE(writer.open_flags & FOPEN_KEEP_CACHE);
  const auto reader = try_open(file, O_RDONLY).as<fuse_open_out>();
  EXPECT_TRUE(reader.open_flags & FOPEN_KEEP_CACHE);
  asked.release(file, reader.fh);
  asked.release(file, writer.fh);
}

TEST(FuseFilesWithStrictatime, EachOpeningDropsThePages) {
  MountOptions options;
  options.atime = FilesystemOptions::Atime::kAlways;
  AskedFilesystem asked(options);
  const InodeNumber file = asked.file("f");
  fuse_open_in wanted{};

  const auto opened = asked.kernel.ask(FUSE_OPEN, file, raw(wanted)).as<fuse_open_out>();

  EXPECT_FALSE(opened.open_flags & FOPEN_KEEP_CACHE);
  asked.release(file, opened.fh);
}

TEST_F(FuseFiles, OpeningToTruncateEmptiesTheFile) {
  asked.release(file, asked.open(file, O_WRONLY | O_TRUNC));

  EXPECT_EQ(fs.content(file), "");
}

TEST_F(FuseFiles, AFileOfASnapshotIsNotOpenedForWriting) {
  ASSERT_TRUE(ok(fs->create_snapshot("old")));
  const InodeNumber old = value_of(fs.find(".snapshots/old/f"));

  EXPECT_EQ(try_open(old, O_RDWR).error, EROFS);
  const std::uint64_t fh = asked.open(old, O_RDONLY);
  EXPECT_EQ(asked.read(old, fh, 0, 100).bytes, "content");
  asked.release(old, fh);
}

TEST_F(FuseFiles, CreatedFilesAreOpen) {
  fuse_create_in wanted{};
  wanted.flags = O_RDWR | O_CREAT;
  wanted.mode = 0666;
  wanted.umask = 022;
  const auto answer = kernel.ask(FUSE_CREATE, kRootInode, raw(wanted) + c_string("new"));
  const auto entry = answer.as<fuse_entry_out>();
  const auto opened = answer.as<fuse_open_out>(sizeof(fuse_entry_out));

  EXPECT_EQ(entry.attr.mode, std::uint32_t{S_IFREG | 0644});
  EXPECT_EQ(asked.write(entry.nodeid, opened.fh, 0, "bytes").error, 0);
  EXPECT_EQ(asked.read(entry.nodeid, opened.fh, 0, 100).bytes, "bytes");
  asked.release(entry.nodeid, opened.fh);
  asked.forget(entry.nodeid);
  EXPECT_EQ(kernel.ask(FUSE_CREATE, kRootInode, raw(wanted) + c_string("new")).error, EEXIST);
}

TEST_F(FuseFiles, FilesWithoutANameAreOpenAndMayGetOne) {
  if (fuse_version() < FUSE_MAKE_VERSION(3, 17))
    GTEST_SKIP() << "O_TMPFILE needs libfuse 3.17, and this is " << fuse_pkgversion();
  fuse_create_in wanted{};
  wanted.flags = O_RDWR | O_TMPFILE;
  wanted.mode = 0666;
  wanted.umask = 022;
  const auto answer = kernel.ask(FUSE_TMPFILE, kRootInode, raw(wanted) + c_string(""));
  const auto entry = answer.as<fuse_entry_out>();
  const auto opened = answer.as<fuse_open_out>(sizeof(fuse_entry_out));

  EXPECT_EQ(entry.attr.mode, std::uint32_t{S_IFREG | 0644});
  EXPECT_EQ(entry.attr.nlink, 0u);
  EXPECT_EQ(asked.write(entry.nodeid, opened.fh, 0, "bytes").error, 0);
  fuse_link_in link{};
  link.oldnodeid = entry.nodeid;
  EXPECT_EQ(kernel.ask(FUSE_LINK, kRootInode, raw(link) + c_string("named")).as<fuse_entry_out>().attr.nlink, 1u);
  asked.release(entry.nodeid, opened.fh);
  asked.forget(entry.nodeid, 2);
  EXPECT_EQ(fs.content(value_of(fs.find("named"))), "bytes");
}

TEST_F(FuseFiles, ReadsEndWithTheFile) {
  const std::uint64_t fh = asked.open(file, O_RDONLY);

  EXPECT_EQ(asked.read(file, fh, 3, 2).bytes, "te");
  EXPECT_EQ(asked.read(file, fh, 3, 4096).bytes, "tent");
  const auto behind = asked.read(file, fh, 100, 10);
  EXPECT_EQ(behind.error, 0);
  EXPECT_EQ(behind.bytes, "");
  asked.release(file, fh);
}

TEST_F(FuseFiles, OnlyAReadThroughThePageCacheFillsIt) {
  const std::uint64_t writer = asked.open(file, O_WRONLY);
  const InodeUse& use = *AskedFilesystem::handle(writer).use;
  const std::uint64_t reader = asked.open(file, O_RDONLY | O_DIRECT);
  ASSERT_FALSE(use.kernel_caches);

  asked.read(file, reader, 0, 7, /*lock_owner=*/1);
  EXPECT_FALSE(use.kernel_caches);
  asked.read(file, reader, 0, 7);
  EXPECT_TRUE(use.kernel_caches);
  asked.release(file, reader);
  asked.release(file, writer);
}

TEST_F(FuseFiles, FsyncMakesWhatWasWrittenDurableAndCloseDoesNot) {
  const std::uint64_t fh = asked.open(file, O_WRONLY);
  ASSERT_TRUE(ok(fs->sync()));
  ASSERT_EQ(asked.write(file, fh, 0, "CON").error, 0);
  fuse_flush_in flush{};
  flush.fh = fh;
  ASSERT_EQ(kernel.ask(FUSE_FLUSH, file, raw(flush)).error, 0);
  EXPECT_EQ(fs.after_crash()->content(file), "content");

  fuse_fsync_in sync{};
  sync.fh = fh;
  ASSERT_EQ(kernel.ask(FUSE_FSYNC, file, raw(sync)).error, 0);
  EXPECT_EQ(fs.after_crash()->content(file), "CONtent");
  asked.release(file, fh);
}

TEST_F(FuseFiles, FsyncOfADirectoryMakesItsNamesDurable) {
  ASSERT_FALSE(fs.after_crash()->find("f"));

  ASSERT_EQ(kernel.ask(FUSE_FSYNCDIR, kRootInode, raw(fuse_fsync_in{})).error, 0);

  EXPECT_TRUE(fs.after_crash()->find("f"));
}

TEST_F(FuseFiles, FallocateDoesWhatItsModeSays) {
  const std::uint64_t fh = asked.open(file, O_RDWR);

  EXPECT_EQ(allocate(fh, FALLOC_FL_KEEP_SIZE, 0, 100), 0);
  EXPECT_EQ(fs.attributes(file).size, 7u);
  EXPECT_EQ(allocate(fh, 0, 0, 10), 0);
  EXPECT_EQ(fs.content(file), std::string("content\0\0\0", 10));
  EXPECT_EQ(allocate(fh, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1, 2), 0);
  EXPECT_EQ(fs.content(file), std::string("c\0\0tent\0\0\0", 10));
  EXPECT_EQ(allocate(fh, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 5, 100), 0);
  EXPECT_EQ(fs.content(file), std::string("c\0\0te\0\0\0\0\0", 10));
  EXPECT_EQ(allocate(fh, FALLOC_FL_ZERO_RANGE, 10, 2), 0);
  EXPECT_EQ(fs.attributes(file).size, 12u);
  asked.release(file, fh);
}

TEST_F(FuseFiles, AnOpenForReadingThatMovesTheAccessTimeMakesTheKernelAskForIt) {
  const auto before = fs.attributes(file).atime;
  asked.release(file, asked.open(file, O_WRONLY));
  asked.release(file, asked.open(file, O_RDONLY | O_NOATIME));
  EXPECT_TRUE(kernel.rest().empty());
  EXPECT_EQ(fs.attributes(file).atime, before);
  asked.release(file, asked.open(file, O_RDONLY));
  EXPECT_EQ(kernel.rest().size(), 1u);
  EXPECT_NE(fs.attributes(file).atime, before);
  asked.release(file, asked.open(file, O_RDONLY));
  EXPECT_TRUE(kernel.rest().empty()) << "it is new enough now";
}

TEST_F(FuseFiles, AFallocateThatFailsDropsThePagesAndChangesNothing) {
  const std::uint64_t fh = asked.open(file, O_RDWR | O_NOATIME);

  EXPECT_EQ(allocate(fh, FALLOC_FL_COLLAPSE_RANGE, 4, 4096), EOPNOTSUPP);

  const auto dropped = kernel.await_invalidation().as<fuse_notify_inval_inode_out>();
  EXPECT_EQ(dropped.ino, file);
  EXPECT_EQ(dropped.off, 4);
  EXPECT_EQ(fs.content(file), "content");
  asked.release(file, fh);
}

TEST_F(FuseFiles, LseekFindsDataAndHoles) {
  fs.write(file, 8192, "more");

  EXPECT_EQ(seek(0, SEEK_HOLE).as<fuse_lseek_out>().offset, 4096u);
  EXPECT_EQ(seek(4096, SEEK_DATA).as<fuse_lseek_out>().offset, 8192u);
  EXPECT_EQ(seek(8196, SEEK_DATA).error, ENXIO) << "lseek(2) has its own error for the end";
  EXPECT_EQ(seek(0, SEEK_SET).error, EINVAL);
}

TEST_F(FuseFiles, CopiesARangeBetweenFiles) {
  const InodeNumber other = asked.file("other", "0123456789");
  const std::uint64_t from = asked.open(file, O_RDONLY);
  const std::uint64_t to = asked.open(other, O_WRONLY);
  fuse_copy_file_range_in wanted{};
  wanted.fh_in = from;
  wanted.off_in = 3;
  wanted.nodeid_out = other;
  wanted.fh_out = to;
  wanted.off_out = 1;
  wanted.len = 100;

  EXPECT_EQ(kernel.ask(FUSE_COPY_FILE_RANGE, file, raw(wanted)).as<fuse_write_out>().size, 4u);

  EXPECT_EQ(fs.content(other), "0tent56789");
  asked.release(other, to);
  asked.release(file, from);
}

TEST_F(FuseFiles, WithDsyncACopyIsDurableWhenItIsAnswered) {
  const InodeNumber other = asked.file("other", "0123456789");
  ASSERT_TRUE(ok(fs->sync()));
  for (const int flags : {O_WRONLY, O_WRONLY | O_DSYNC}) {
    const std::uint64_t to = asked.open(other, flags);
    fuse_copy_file_range_in wanted{};
    wanted.nodeid_out = other;
    wanted.fh_out = to;
    wanted.len = 3;
    ASSERT_EQ(kernel.ask(FUSE_COPY_FILE_RANGE, file, raw(wanted)).error, 0);
    EXPECT_EQ(fs.after_crash()->content(other), (flags & O_DSYNC) != 0 ? "con3456789" : "0123456789");
    asked.release(other, to);
  }
}

TEST_F(FuseFiles, AnUnlinkedFileIsThereUntilItIsClosed) {
  asked.lookup(kRootInode, "f");
  const std::uint64_t fh = asked.open(file, O_RDONLY);
  ASSERT_EQ(kernel.ask(FUSE_UNLINK, kRootInode, c_string("f")).error, 0);

  EXPECT_EQ(asked.read(file, fh, 0, 100).bytes, "content");
  asked.release(file, fh);
  asked.forget(file);
  EXPECT_TRUE(fs.inodes_become(1));
}

}  // namespace
}  // namespace dedupfs
