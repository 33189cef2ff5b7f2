#include "volume_source.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "served_volume.h"

namespace dedupfs::tools {
namespace {

TEST(VolumeSource, OpensAVolumeOnceForAllQuestions) {
  const ClosedVolume volume;
  VolumeSource source(volume.path(), {});
  const nlohmann::json request{{"command", "statistics"}};
  std::vector<Volume*> opened;
  const auto note = [&](Volume& given) -> Result<nlohmann::json> {
    opened.push_back(&given);
    return nlohmann::json(opened.size());
  };

  EXPECT_EQ(value_of(source.ask(request, "number", note)), 1);
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, Volume::open(volume.path(), {}))) << "it stays open between the questions";
  EXPECT_EQ(value_of(source.ask(request, "number", note)), 2);

  EXPECT_EQ(opened.front(), opened.back());
}

TEST(VolumeSource, AsksTheDaemonOfAVolumeInUse) {
  const ServedVolume volume;
  VolumeSource source(volume.path(), {});
  const auto unread = [](Volume&) -> Result<nlohmann::json> { return Error{ErrorCode::kStale, "it was opened"}; };

  EXPECT_EQ(value_of(source.statistics()).at("files"), 2);
  EXPECT_TRUE(value_of(source.history()).is_array());
  EXPECT_TRUE(fails_with(ErrorCode::kIo, source.ask({{"command", "statistics"}}, "no such key", unread)));
}

TEST(VolumeSource, AnswersTheSameOfAVolumeThatIsNotInUse) {
  const ClosedVolume volume;
  VolumeSource source(volume.path(), {});

  EXPECT_EQ(value_of(source.statistics()).at("files"), 2);
  EXPECT_TRUE(value_of(source.history()).is_array());
}

TEST(VolumeSource, AVolumeThatIsNotThereIsAnError) {
  VolumeSource source("/no/such/volume", {});

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, source.statistics()));
}

}  // namespace
}  // namespace dedupfs::tools
