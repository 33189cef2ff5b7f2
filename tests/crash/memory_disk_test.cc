#include "support/memory_disk.h"

#include <gtest/gtest.h>

#include <set>

#include "support/crash_replay.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kAllThere = 0;
constexpr std::uint64_t kAllLost = 1;
constexpr std::uint64_t kEnoughVariations = 400;

class MemoryDiskTest : public testing::Test {
 protected:
  MemoryDiskTest() { EXPECT_TRUE(disk.make_directory("/d") && disk.sync_directory("/")); }

  std::unique_ptr<BackingFile> create(const Path& path) {
    auto file = disk.open(path, Backing::Mode::kCreate);
    EXPECT_TRUE(file) << file.error().message();
    return std::move(*file);
  }
  static void write(BackingFile& file, std::uint64_t offset, std::string_view text) {
    EXPECT_TRUE(file.write(offset, bytes_of(text)));
  }
  // "-" for a file that is not there.
  static std::string content(const DiskImage& image, const std::string& path) {
    const auto name = image.names.find(path);
    return name == image.names.end() ? "-" : *image.contents.at(name->second);
  }
  // What is found at the path after a crash now, in all the variations.
  std::set<std::string> contents_after_crash(const std::string& path) {
    const auto events = disk.events();
    CrashReplay replay({}, events);
    replay.go_to(events.size());
    std::set<std::string> found;
    for (std::uint64_t variation = 0; variation < kEnoughVariations; ++variation)
      found.insert(content(replay.state(variation, variation), path));
    return found;
  }

  MemoryDisk disk;
};

TEST_F(MemoryDiskTest, ReadsBackWhatWasWritten) {
  const auto file = create("/d/f");
  write(*file, 2, "text");

  ByteBuffer out(10);
  EXPECT_EQ(*file->read_up_to(1, out), 5U);
  EXPECT_EQ(text_of(ByteSpan(out).first(5)), std::string_view("\0text", 5));
  EXPECT_FALSE(file->read(1, out));
  EXPECT_EQ(*disk.list_directory("/d"), std::vector<std::string>{"f"});
}

TEST_F(MemoryDiskTest, RefusesWhatAnOperatingSystemWould) {
  create("/d/f");

  EXPECT_EQ(disk.open("/d/f", Backing::Mode::kCreate).error().code(), ErrorCode::kExists);
  EXPECT_EQ(disk.open("/d/g", Backing::Mode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(disk.open("/e/f", Backing::Mode::kCreate).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(disk.remove_directory("/d").error().code(), ErrorCode::kNotEmpty);
  EXPECT_EQ(disk.make_directory("/d").error().code(), ErrorCode::kExists);
}

TEST_F(MemoryDiskTest, ALockLastsAsLongAsItsFile) {
  auto holder = create("/d/f");
  const auto other = *disk.open("/d/f", Backing::Mode::kReadWrite);
  EXPECT_TRUE(*holder->try_lock(BackingFile::LockMode::kExclusive));

  EXPECT_FALSE(*other->try_lock(BackingFile::LockMode::kShared));
  holder.reset();
  EXPECT_TRUE(*other->try_lock(BackingFile::LockMode::kExclusive));
}

TEST_F(MemoryDiskTest, CopiesOfAnImageDoNotChangeWithIt) {
  const auto file = create("/d/f");
  write(*file, 0, "before");
  const DiskImage copy = disk.image();

  write(*file, 0, "after!");

  EXPECT_EQ(content(copy, "/d/f"), "before");
  EXPECT_EQ(content(disk.image(), "/d/f"), "after!");
}

TEST_F(MemoryDiskTest, APowerCutKeepsWhatWasSyncedAndAnySubsetOfTheRest) {
  const auto file = create("/d/f");
  ASSERT_TRUE(disk.sync_directory("/d"));
  write(*file, 0, "AB");
  ASSERT_TRUE(file->datasync());
  write(*file, 0, "a");
  write(*file, 1, "b");

  EXPECT_EQ(contents_after_crash("/d/f"), (std::set<std::string>{"AB", "aB", "Ab", "ab"}));
}

TEST_F(MemoryDiskTest, ASyncThatFailedMakesNothingDurable) {
  const auto file = create("/d/f");
  ASSERT_TRUE(disk.sync_directory("/d"));
  write(*file, 0, "lost");
  disk.set_fault([](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "datasync") return std::nullopt;
    return MemoryDisk::Fault{Error{ErrorCode::kIo, "told to"}};
  });
  EXPECT_FALSE(file->datasync());
  disk.set_fault(nullptr);

  EXPECT_TRUE(file->datasync());  // as Linux has it: the error comes once

  EXPECT_EQ(contents_after_crash("/d/f"), std::set<std::string>{""});
}

TEST_F(MemoryDiskTest, ANameThatWasNotSyncedCanBeMissing) {
  const auto file = create("/d/f");
  write(*file, 0, "x");
  ASSERT_TRUE(file->datasync());
  EXPECT_EQ(contents_after_crash("/d/f"), (std::set<std::string>{"-", "x"}));

  ASSERT_TRUE(disk.sync_directory("/d"));

  EXPECT_EQ(contents_after_crash("/d/f"), std::set<std::string>{"x"});
}

TEST_F(MemoryDiskTest, ARenameIsWholeOrNotAtAll) {
  const auto old_file = create("/d/f");
  const auto new_file = create("/d/f.new");
  write(*old_file, 0, "old");
  write(*new_file, 0, "new");
  ASSERT_TRUE(old_file->datasync() && new_file->datasync() && disk.sync_directory("/d"));

  ASSERT_TRUE(disk.rename("/d/f.new", "/d/f"));

  EXPECT_EQ(contents_after_crash("/d/f"), (std::set<std::string>{"old", "new"}));
}

TEST_F(MemoryDiskTest, WritesAreTornAtBlocksAndCanLeaveZeros) {
  const auto file = create("/d/f");
  ASSERT_TRUE(disk.sync_directory("/d"));
  write(*file, 0, std::string(512, 'a') + std::string(512, 'b'));

  const auto found = contents_after_crash("/d/f");

  EXPECT_TRUE(found.contains(std::string(512, 'a')));
  EXPECT_TRUE(found.contains(std::string(512, '\0') + std::string(512, 'b')));
  EXPECT_TRUE(found.contains(std::string(1024, '\0')));
  EXPECT_TRUE(found.contains(std::string(512, 'a') + std::string(512, '\0')));
}

TEST_F(MemoryDiskTest, ReplayCanGoBack) {
  const auto file = create("/d/f");
  ASSERT_TRUE(disk.sync_directory("/d"));
  write(*file, 0, "x");
  const auto events = disk.events();
  CrashReplay replay({}, events);

  replay.go_to(events.size());
  EXPECT_EQ(content(replay.state(kAllThere, 0), "/d/f"), "x");
  EXPECT_EQ(content(replay.state(kAllLost, 0), "/d/f"), "");
  replay.go_to(0);
  EXPECT_EQ(replay.state(kAllThere, 0).names.size(), 1U);
}

}  // namespace
}  // namespace dedupfs
