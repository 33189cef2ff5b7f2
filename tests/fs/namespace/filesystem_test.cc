// The filesystem as a whole: what no part of it shows alone.
#include "fs/namespace/filesystem.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fs/faulty_filesystem.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

constexpr Caller kUser{.uid = 1000, .gid = 100, .umask = 022};

TEST(Filesystem, WhatWasMadeIsThereAfterReopening) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "directory");
  const std::string content = random_text(300'000, 1);
  const InodeNumber file = fs.make_file(directory, "file", content, 0640);
  value_of(fs->make_symlink(directory, "link", "../target", kUser));
  value_of(fs->make_node(directory, "device", S_IFBLK | 0600, 0x801, kUser));
  const Attributes before = fs.attributes(file);

  fs.reopen();

  EXPECT_EQ(value_of(fs.find("directory/file")), file);
  EXPECT_EQ(fs.content(file), content);
  Attributes after = fs.attributes(file);
  after.atime = before.atime;
  after.data_bytes = before.data_bytes;
  EXPECT_EQ(after, before);
  EXPECT_EQ(value_of(fs->read_symlink(value_of(fs.find("directory/link")))), "../target");
  EXPECT_EQ(fs.attributes(value_of(fs.find("directory/device"))).device, 0x801U);
}

TEST(Filesystem, WhereChangesHaveEndedNothingIsTakenAndWhatWasTakenIsCommitted) {
  TestFilesystem fs;
  const std::string content = random_text(300'000, 1);
  const InodeNumber file = fs.make_file(kRootInode, "file", content);

  fs->end_changes({ErrorCode::kBusy, "another machine writes"});

  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->create(kRootInode, "more", S_IFREG | 0600, kUser)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->unlink(kRootInode, "file")));
  EXPECT_EQ(fs.content(file), content);
  EXPECT_FALSE(fs->abort_reason());
  fs.reopen();
  EXPECT_EQ(fs.content(value_of(fs.find("file"))), content);
}

TEST(Filesystem, WhatFindsNoRoomKeepsNoOtherDataFromTheDisk) {
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  const InodeNumber small = fs.make_file(kRootInode, "small", "few bytes");
  ASSERT_TRUE(ok(fs->sync()));
  faulty.fail("open", ErrorCode::kNoSpace);
  fs.make_file(kRootInode, "large", random_text(3 << 20, 2));

  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->sync()));
  EXPECT_TRUE(ok(fs->sync_what_fits()));

  EXPECT_EQ(fs.content(small), "few bytes");
  faulty.fail("open", std::nullopt);
}

// What is taken is measured once a second, and what is available at each call.
TEST(Filesystem, ItsSizeIsOfOneMomentAndNeverMoreThanTheDisk) {
  constexpr std::uint64_t kMiB = 1 << 20;
  TestFilesystem fs;
  const auto disk = std::make_shared<FaultyBacking>();
  fs.use(disk);
  fs.reopen();
  fs.make_file(kRootInode, "file", random_text(2 * kMiB, 1));
  ASSERT_TRUE(ok(fs->sync()));
  disk->told_space = [=] { return Backing::Space{1000 * kMiB, 500 * kMiB}; };
  const SpaceReport before = value_of(fs->space());

  disk->told_space = [=] { return Backing::Space{1000 * kMiB, 400 * kMiB}; };
  const SpaceReport after = value_of(fs->space());
  disk->told_space = [=] { return Backing::Space{1000 * kMiB, 1000 * kMiB}; };
  const SpaceReport emptied = value_of(fs->space());

  EXPECT_EQ(before.disk_bytes, 1000 * kMiB);
  EXPECT_GT(before.total_bytes, before.available_bytes + 2 * kMiB);
  EXPECT_EQ(after.total_bytes, before.total_bytes);
  EXPECT_EQ(after.available_bytes, before.available_bytes - 100 * kMiB);
  EXPECT_LE(emptied.total_bytes, 1000 * kMiB);
  EXPECT_GE(emptied.total_bytes, emptied.available_bytes);
  disk->told_space = nullptr;
}

TEST(Filesystem, AReadOnlyVolumeShowsEverythingAndTakesNothing) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Attributes before = fs.attributes(file);
  fs.reopen(true);

  EXPECT_EQ(fs.content(file), "text");
  EXPECT_EQ(fs.attributes(file).atime, before.atime);
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->create(kRootInode, "g", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->unlink(kRootInode, "f")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->write(file, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs->open_file(file, true, {})));
  EXPECT_TRUE(ok(fs->open_file(file, false, {})));
  fs->release_file(file, false);
  EXPECT_TRUE(ok(fs->sync()));
}

TEST(Filesystem, ManyThreadsLeaveAConsistentTree) {
  FilesystemOptions options;
  options.commit_interval = std::chrono::milliseconds(20);
  options.dirty_bytes = 1 << 20;
  TestFilesystem fs(options);
  constexpr int kDirectories = 3;
  std::vector<InodeNumber> directories;
  for (int i = 0; i < kDirectories; ++i) directories.push_back(fs.make_directory(kRootInode, "d" + std::to_string(i)));
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t random = thread + 1;
      const auto next = [&](std::uint64_t limit) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        return (random >> 33) % limit;
      };
      for (int step = 0; step < 800; ++step) {
        const InodeNumber directory = directories[next(kDirectories)];
        const InodeNumber other = directories[next(kDirectories)];
        const std::string name = std::to_string(next(20));
        switch (next(9)) {
          case 0:
          case 1:
            if (const auto made = fs->create(directory, name, 0644, {})) {
              (void)fs->open_file(made->inode, false, {});
              (void)fs->write(made->inode, next(100'000),
                              bytes_of(random_text(next(30'000) + 1, static_cast<unsigned>(random))), {}, nullptr);
              fs->release_file(made->inode, true);
              fs->forget(made->inode, 1);
            }
            break;
          case 2: (void)fs->unlink(directory, name); break;
          case 3:
            (void)fs->rename(directory, name, other, std::to_string(next(20)), Filesystem::RenameMode::kReplace);
            break;
          case 4:
            (void)fs->rename(directory, name, other, std::to_string(next(20)), Filesystem::RenameMode::kExchange);
            break;
          case 5: {
            const auto made = fs->make_directory(directory, name, 0755, {});
            if (made) fs->forget(made->inode, 1);
            break;
          }
          case 6: (void)fs->remove_directory(directory, name); break;
          case 7:
            if (const auto found = fs->lookup(directory, name)) {
              if (fs->make_link(found->inode, other, std::to_string(next(20)))) fs->forget(found->inode, 1);
              (void)fs->read(found->inode, 0, 1 << 20);
              fs->forget(found->inode, 1);
            }
            break;
          default: {
            std::vector<InodeNumber> referenced;
            EXPECT_TRUE(ok(fs->read_directory(directory, 0, true, [&](const DirectoryEntry& entry) {
              if (entry.counted) referenced.push_back(entry.attributes.inode);
              return true;
            })));
            for (const InodeNumber inode : referenced) fs->forget(inode, 1);
            if (next(10) == 0) {
              EXPECT_TRUE(ok(fs->sync()));
            }
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fs.reopen();

  std::map<InodeNumber, std::uint32_t> names;
  std::uint64_t inodes = 1;
  const std::function<void(InodeNumber)> walk = [&](InodeNumber directory) {
    std::uint32_t subdirectories = 0;
    for (const DirectoryEntry& entry : fs.list(directory, 2)) {
      const Attributes attributes = fs.attributes(entry.attributes.inode);
      inodes += names[attributes.inode]++ == 0;
      if (!is_directory(attributes.mode)) {
        fs.content(attributes.inode);
        continue;
      }
      ++subdirectories;
      EXPECT_EQ(attributes.parent, directory);
      walk(attributes.inode);
    }
    EXPECT_EQ(fs.attributes(directory).links, 2 + subdirectories);
  };
  walk(kRootInode);
  for (const auto& [inode, count] : names)
    EXPECT_EQ(is_directory(fs.attributes(inode).mode) ? 1 : fs.attributes(inode).links, count);
  EXPECT_TRUE(fs.inodes_become(inodes));
}

}  // namespace
}  // namespace dedupfs
