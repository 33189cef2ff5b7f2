#include "store/volume/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "captured_copy.h"
#include "reclaimed_volume.h"
#include "rotated_volume.h"
#include "store/seal/sealed_folder.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> paths_of(const Capture& capture) {
  std::vector<std::string> paths;
  for (const CapturedFile& file : capture.files()) paths.push_back(file.path);
  return paths;
}

class CaptureTest : public testing::TestWithParam<bool> {
 protected:
  bool is_encrypted() const { return GetParam(); }
  std::shared_ptr<Backing> backing() const { return is_encrypted() ? RotatedVolume::backing() : Backing::posix(); }
  Path path() const { return is_encrypted() ? rotated_.path() : plain_; }
  Path copy() const { return directory_.path() / "copy"; }

  void SetUp() override {
    VolumeSettings settings;
    settings.compression = {.settled = parse_compression("none").value()};
    settings.delta = parse_delta_settings("none").value();
    if (!is_encrypted()) {
      ASSERT_TRUE(Volume::create(plain_, settings));
    }
    open();
  }
  void open() { volume_.emplace(path(), kept_, backing()); }
  void close() {
    kept_ = volume_->kept();
    volume_.reset();
  }
  // Containers come and go, and so do tables, logs and manifests.
  void use(std::uint64_t seed) {
    const auto ids = volume_->keep(chunks(seed, seed + 10));
    ASSERT_TRUE(volume_->commit());
    volume_->drop(ids, {0, 1, 2, 3, 4, 5, 6});
    volume_->begin_container();
    ASSERT_TRUE(volume_->volume().database().empty_log());
    ASSERT_TRUE(volume_->reclaim());
  }
  void expect_image_has(const ReclaimedVolume::References& kept) {
    ReclaimedVolume image(copy(), kept, backing());
    EXPECT_THAT(image.check(), IsEmpty());
    image.expect_kept_for_good();
  }

  const TempDir directory_;
  const RotatedVolume rotated_;
  const Path plain_ = directory_.path() / "plain";
  ReclaimedVolume::References kept_;
  std::optional<ReclaimedVolume> volume_;
};
INSTANTIATE_TEST_SUITE_P(Plain, CaptureTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Encrypted, CaptureTest, testing::Values(true));

TEST_P(CaptureTest, IsThatOfItsMomentHoweverTheVolumeIsUsedUntilItIsCopied) {
  use(0);
  use(100);
  const auto kept = volume_->kept();
  auto captured = capture(volume_->volume());
  ASSERT_TRUE(captured) << captured.error().message();

  use(200);
  volume_->drop_all();
  use(300);

  write_captured(**captured, copy());
  captured->reset();
  expect_image_has(kept);
}

TEST_P(CaptureTest, OfAVolumeThatNobodyHasOpen) {
  use(0);
  close();

  const auto captured = capture_closed(Backing::posix()->open_root(path()).value());

  ASSERT_TRUE(captured) << captured.error().message();
  write_captured(**captured, copy());
  expect_image_has(kept_);
}

TEST_P(CaptureTest, OfAVolumeThatACrashLeft) {
  use(0);
  const auto kept = volume_->kept();
  crash_copy(path(), directory_.path() / "crashed");

  const auto captured = capture_closed(Backing::posix()->open_root(directory_.path() / "crashed").value());

  ASSERT_TRUE(captured) << captured.error().message();
  write_captured(**captured, copy());
  expect_image_has(kept);
}

TEST_P(CaptureTest, BesideCommits) {
  std::atomic<bool> goes_on = true;
  std::thread user([&] {
    for (std::uint64_t seed = 1000; goes_on; seed += 3) {
      volume_->keep(chunks(seed, seed + 3));
      ASSERT_TRUE(volume_->commit());
      if (seed % 5 == 0) {
        const auto emptied = volume_->volume().database().empty_log();
        ASSERT_TRUE(emptied) << emptied.error().message();
      }
    }
  });
  for (int i = 0; i < 20; ++i) {
    auto captured = capture(volume_->volume());
    ASSERT_TRUE(captured) << captured.error().message();
    write_captured(**captured, copy());
    captured->reset();
    ReclaimedVolume image(copy(), {}, backing());
    EXPECT_THAT(image.check(), IsEmpty());
  }
  goes_on = false;
  user.join();
}

TEST_P(CaptureTest, KeepsTheFilesOfContainersUntilItEnds) {
  volume_->keep(chunks(0, 10));
  volume_->begin_container();
  const std::uint32_t number = volume_->containers().at(0);
  const Path file = path() / kContainersDirectory / container_name(number);
  auto first = capture(volume_->volume());
  auto second = capture(volume_->volume());
  ASSERT_TRUE(first && second);
  volume_->drop_all();
  ASSERT_TRUE(volume_->commit());

  const auto findings = volume_->reclaim();

  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->emptied_containers, 1u);
  EXPECT_THAT(volume_->containers(), Not(Contains(number))) << "others do not see it any more";
  EXPECT_TRUE(std::filesystem::exists(file));
  first->reset();
  EXPECT_TRUE(std::filesystem::exists(file));
  second->reset();
  EXPECT_FALSE(std::filesystem::exists(file));
}

// The names would not do in a bucket, and what is in them is nobody's business there.
TEST_P(CaptureTest, HasNothingThatPeopleLeftInTheFolder) {
  const std::vector<std::string> strays = {"superblock.json~",  ".nfs0000000001", "mykey",          "daemon.log",
                                           "containers/.stray", "index/a file",   "checkpoints/#1#"};
  std::filesystem::create_directories(path() / kCheckpointsDirectory);
  for (const std::string& stray : strays) std::ofstream(path() / stray) << "mine";
  const auto expect_none = [&](const Capture& image) {
    for (const std::string& stray : strays) EXPECT_THAT(paths_of(image), Not(Contains(stray)));
  };

  {
    const auto open_image = capture(volume_->volume());
    ASSERT_TRUE(open_image);
    expect_none(**open_image);
  }
  close();
  const auto closed_image = capture_closed(Backing::posix()->open_root(path()).value());
  ASSERT_TRUE(closed_image);
  expect_none(**closed_image);
}

TEST_P(CaptureTest, HasNothingOfTheMountItself) {
  std::ofstream(path() / kRemoteFile) << "{}";
  std::ofstream(path() / "superblock.json.new") << "{}";

  const auto captured = capture(volume_->volume());

  ASSERT_TRUE(captured);
  EXPECT_THAT(paths_of(**captured), Contains("superblock.json"));
  for (const char* const name : {"lock", "ballast", "control.sock", "remote.json", "superblock.json.new"}) {
    EXPECT_THAT(paths_of(**captured), Not(Contains(name)));
  }
  EXPECT_TRUE(std::ranges::is_sorted(paths_of(**captured)));
}

}  // namespace
}  // namespace dedupfs
