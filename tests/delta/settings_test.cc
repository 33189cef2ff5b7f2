#include "delta/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "delta/resemblance.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

// The value, or a failed test with the message of the error.
DeltaSettings parsed(std::string_view text) {
  const auto settings = parse_delta_settings(text);
  EXPECT_TRUE(settings) << text << ": " << settings.error().message();
  return settings ? *settings : DeltaSettings{};
}

TEST(DeltaSettings, NoneIsNoDeltas) {
  EXPECT_FALSE(parsed("none").enabled());
  EXPECT_EQ(format_delta_settings({}), "none");
}

TEST(DeltaSettings, EveryMethodOfResemblanceDetectionIsTaken) {
  for (const ResemblanceMethodInfo& method : resemblance_method_infos()) {
    EXPECT_TRUE(parsed(method.name).enabled()) << method.name;
    EXPECT_EQ(parsed(method.name).method, method.name);
  }
}

TEST(DeltaSettings, DefaultOfVolumesIsOneOfThem) {
  EXPECT_TRUE(parsed(kDefaultDeltaSettings).enabled());
}

TEST(DeltaSettings, WhatIsNotSaidIsTheDefault) {
  const DeltaSettings defaults;

  const DeltaSettings settings = parsed("odess+:depth=7");

  EXPECT_EQ(settings.depth, 7);
  EXPECT_EQ(settings.neighbours, defaults.neighbours);
  EXPECT_EQ(settings.index_bytes, defaults.index_bytes);
}

TEST(DeltaSettings, ComeBackAsTheyWereFormatted) {
  for (const auto* text :
       {"none", "odess+:depth=4,neighbours=2,index=4g", "odess:depth=1,neighbours=0,index=1m",
        "n-transform:depth=16,neighbours=3,index=123456789", "finesse:depth=2,neighbours=1,index=1t"})
    EXPECT_EQ(format_delta_settings(parsed(text)), text);
}

TEST(DeltaSettings, OrderOfKeysIsFree) {
  EXPECT_EQ(parsed("odess+:index=1g,neighbours=1,depth=2"), parsed("odess+:depth=2,neighbours=1,index=1g"));
}

TEST(DeltaSettings, WrongOnesAreRefusedAndNamed) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "delta"},
      {"xdelta", "odess+"},  // says which there are
      {"xdelta:depth=1", "none"},
      {"none:depth=1", "none"},
      {"ODESS+", "odess+"},
      {"odess+:", "delta"},
      {"odess+:depth", "depth"},
      {"odess+:depth=0", "depth"},
      {"odess+:depth=17", "depth"},
      {"odess+:depth=-1", "depth"},
      {"odess+:depth=deep", "depth"},
      {"odess+:neighbours=4", "neighbours"},
      {"odess+:index=1", "index"},
      {"odess+:index=2048t", "index"},
      {"odess+:colour=3", "colour"},
      {"odess+:depth=1,depth=2", "depth"},
  };
  for (const auto& [text, named] : cases) {
    const auto settings = parse_delta_settings(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(settings.error().message(), HasSubstr(std::string(named))) << text;
  }
}

}  // namespace
}  // namespace dedupfs
