#include "store/volume/outdated_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rotated_volume.h"

namespace dedupfs {
namespace {

std::ptrdiff_t count_below(std::string_view folder, const std::set<std::string>& paths) {
  return std::ranges::count_if(paths, [&](const std::string& path) { return path.starts_with(folder); });
}

TEST(OutdatedFiles, AreThoseOfBeforeTheRotation) {
  const RotatedVolume rotated;
  const auto kept = rotated.fill(chunks(0, 3));
  {
    ReclaimedVolume volume(rotated.path(), kept, rotated.backing());
    ASSERT_TRUE(volume.volume().folder()->make_folder(kCheckpointsDirectory));
    const auto checkpoints = volume.volume().folder()->open_folder(kCheckpointsDirectory);
    ASSERT_TRUE(checkpoints);
    ASSERT_TRUE(replace_file(**checkpoints, "some", bytes_of("the next one replaces it")));
    EXPECT_THAT(outdated_files(volume.volume()), testing::IsEmpty());
  }
  rotated.rotate();

  ReclaimedVolume volume(rotated.path(), kept, rotated.backing());
  volume.keep(chunks(3, 6));
  volume.begin_container();

  const std::set<std::string> outdated = outdated_files(volume.volume());
  EXPECT_EQ(count_below("containers/", outdated), 1);
  EXPECT_GE(count_below("index/", outdated), 1);
  EXPECT_EQ(count_below("checkpoints/", outdated), 0);
}

TEST(OutdatedFiles, NoneOfAVolumeThatIsNotEncrypted) {
  ReclaimedVolume volume;
  EXPECT_THAT(outdated_files(volume.volume()), testing::IsEmpty());
}

}  // namespace
}  // namespace dedupfs
