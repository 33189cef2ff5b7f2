// A reclaim after a rotation of the master key of an encrypted volume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reclaimed_volume.h"
#include "rotated_volume.h"
#include "store/seal/sealed_folder.h"
#include "store/volume/outdated_files.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;

class RotationTest : public testing::Test {
 protected:
  const RotatedVolume rotated_;
};

TEST_F(RotationTest, AReclaimMovesWhatIsUnderAFormerKeyAndTheUnmountForgetsIt) {
  ReclaimedVolume::References kept;
  {
    ReclaimedVolume volume(rotated_.path(), {}, rotated_.backing());
    volume.keep(chunks(0, 10));
    volume.begin_container();
    volume.keep(chunks(10, 20));
    volume.begin_container();
    kept = volume.kept();
    EXPECT_THAT(outdated_files(volume.volume()), IsEmpty());
  }
  rotated_.rotate();
  EXPECT_EQ(rotated_.header().key_number, 2u);
  EXPECT_EQ(rotated_.header().former_keys.size(), 1u);
  {
    ReclaimedVolume volume(rotated_.path(), kept, rotated_.backing());
    volume.expect_kept();
    const auto outdated = outdated_files(volume.volume());
    EXPECT_EQ(std::ranges::count_if(outdated, [](const auto& path) { return path.starts_with("containers/"); }), 2);
    EXPECT_TRUE(std::ranges::any_of(outdated, [](const auto& path) { return path.ends_with(".sst"); }));
    EXPECT_FALSE(outdated.contains("settings")) << "the first change has sealed it anew";
    EXPECT_FALSE(outdated.contains("index/IDENTITY"));
  }
  EXPECT_EQ(rotated_.header().former_keys.size(), 1u) << "there is no reclaim yet";
  {
    ReclaimedVolume volume(rotated_.path(), kept, rotated_.backing());

    const ReclaimFindings findings = reclaim(volume);

    EXPECT_EQ(findings.emptied_containers, 2u);
    volume.expect_kept();
  }
  EXPECT_THAT(rotated_.header().former_keys, IsEmpty());
  EXPECT_EQ(rotated_.header().key_number, 2u);
  ReclaimedVolume volume(rotated_.path(), kept, rotated_.backing());
  volume.expect_kept();
  EXPECT_THAT(outdated_files(volume.volume()), IsEmpty());
  EXPECT_THAT(volume.check(), IsEmpty());
  EXPECT_TRUE(compare_all_files(*volume.volume().folder()));
}

// What is written after the rotation does not move.
TEST_F(RotationTest, AReclaimThatWasStoppedIsGoneOnWith) {
  auto kept = rotated_.fill(chunks(0, 10));
  rotated_.rotate();
  {
    ReclaimedVolume volume(rotated_.path(), kept, rotated_.backing());
    volume.keep(chunks(10, 20));
    volume.begin_container();
    kept = volume.kept();
    volume.progress = [](ReclaimPhase phase) {
      return phase == ReclaimPhase::kCompactIndex ? stopped() : Result<void>();
    };
    EXPECT_EQ(volume.reclaim().error().code(), ErrorCode::kInterrupted);
  }
  EXPECT_EQ(rotated_.header().former_keys.size(), 1u);
  rotated_.rotate();
  EXPECT_EQ(rotated_.header().former_keys.size(), 2u);
  {
    ReclaimedVolume volume(rotated_.path(), kept, rotated_.backing());
    EXPECT_EQ(reclaim(volume).emptied_containers, 2u);
    volume.expect_kept();
  }
  EXPECT_THAT(rotated_.header().former_keys, IsEmpty());
}

}  // namespace
}  // namespace dedupfs
