// A repair that a power cut ends anywhere: the next one brings the volume to where the first would have.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "crash/recorded_run.h"
#include "fs/check/fsck.h"
#include "store/format/container_format.h"
#include "support/crash_replay.h"
#include "support/share.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStates = 300;
constexpr std::uint64_t kMixtures = 8;  // at random, of each point

std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  return bytes;
}

// Files in several containers, and names and attributes.
DiskImage make_volume() {
  RecordedRun run(make_small_volume(), {});
  run.open();
  const ModelPtr folder = run.make_directory(run.root(), "folder");
  for (unsigned i = 0; i < 4; ++i) {
    const ModelPtr file = run.make_file(i % 2 == 0 ? folder : run.root(), "file" + std::to_string(i));
    run.write(file, 0, random_bytes(150'000, i));
    run.set_xattr(file, "user.name", "value");
    run.reopen();
  }
  run.make_symlink(folder, "link", "file0");
  run.close();
  return run.disk().image();
}

void change_file(DiskImage& image, const std::string& path, const std::function<void(std::string&)>& change) {
  SharedText& content = image.contents.at(image.names.at(path));
  std::string bytes = *content;
  change(bytes);
  content = std::make_shared<const std::string>(std::move(bytes));
}

std::string last_container(const DiskImage& image) {
  const std::string folder = std::string(kVolumePath) + "/" + std::string(kContainersDirectory) + "/";
  std::string last;
  for (const auto& [path, file] : image.names)
    if (path.starts_with(folder)) last = path;
  return last;
}

// What is repaired in place. An index that is made anew goes through files that are not on this disk; the live campaign cuts that.
DiskImage damaged(DiskImage image) {
  change_file(image, std::string(kVolumePath) + "/" + std::string(kSuperblockFile),
              [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  change_file(image, last_container(image), [](std::string& bytes) {
    bytes[20] ^= 1;                                       // of the header
    bytes.resize(bytes.size() - kContainerTrailerBytes);  // never sealed,
    bytes += std::string(5000, 'x');                      // and the last write was torn
  });
  return image;
}

Result<FsckReport> fsck(const std::shared_ptr<MemoryDisk>& disk, FsckOptions::Mode mode) {
  FsckOptions options;
  options.mode = mode;
  options.verify_data = true;
  return run_fsck(kVolumePath, options, disk);
}

std::string tree_on(const std::shared_ptr<MemoryDisk>& disk) {
  const auto filesystem = open_filesystem(disk);
  if (!filesystem) return filesystem.error().message();
  const auto tree = tree_of(**filesystem);
  return tree ? tree->text : tree.error().message();
}

class RepairStates : public testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
  void TearDown() override { spdlog::set_level(spdlog::level::info); }
};

TEST_F(RepairStates, AfterAPowerCutInARepairTheNextOneEndsAsItWouldHave) {
  const DiskImage whole = make_volume();
  const std::string tree = tree_on(std::make_shared<MemoryDisk>(whole));
  const DiskImage start = damaged(whole);
  const auto disk = std::make_shared<MemoryDisk>(start);
  const auto uninterrupted = fsck(disk, FsckOptions::Mode::kAll);
  ASSERT_TRUE(uninterrupted) << uninterrupted.error().message();
  ASSERT_EQ(uninterrupted->exit_status(), kFsckCorrected);
  ASSERT_EQ(uninterrupted->repairs, 3U) << testing::PrintToString(uninterrupted->lines);
  const auto events = disk->events();
  ASSERT_EQ(tree_on(disk), tree);

  CrashReplay replay(start, events);
  std::mt19937_64 random(1);
  const std::uint64_t states = kStates / kShare;
  for (std::uint64_t i = 0; i < states; ++i) {
    const std::size_t position = i * events.size() / states + random() % (events.size() / states + 1);
    replay.go_to(std::min(position, events.size()));
    const std::uint64_t variation = random() % (replay.exact_variations() + kMixtures);
    SCOPED_TRACE("event " + std::to_string(position) + " of " + std::to_string(events.size()) + ", variation " +
                 std::to_string(variation));
    const auto crashed = std::make_shared<MemoryDisk>(replay.state(variation, i));

    const auto repaired = fsck(crashed, FsckOptions::Mode::kAll);

    ASSERT_TRUE(repaired) << repaired.error().message();
    EXPECT_TRUE(repaired->is_clean()) << testing::PrintToString(repaired->lines);
    const auto again = fsck(crashed, FsckOptions::Mode::kAll);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->exit_status(), 0) << testing::PrintToString(again->lines);
    EXPECT_EQ(again->inodes, uninterrupted->inodes);
    EXPECT_EQ(again->chunks, uninterrupted->chunks);
    EXPECT_EQ(tree_on(crashed), tree);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace dedupfs
