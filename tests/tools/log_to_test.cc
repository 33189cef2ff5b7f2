#include "log_to.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(LogTo, LinesOfTheLevelGoToTheStreamUntilTheEnd) {
  std::ostringstream stream;
  const auto before = spdlog::default_logger();
  {
    const LogTo log(stream, "tool", spdlog::level::warn);
    spdlog::warn("a warning");
    spdlog::info("a detail");
  }

  EXPECT_THAT(stream.str(), AllOf(HasSubstr("a warning"), HasSubstr("tool"), Not(HasSubstr("a detail"))));
  EXPECT_EQ(spdlog::default_logger(), before);
  EXPECT_EQ(spdlog::get("tool"), nullptr) << "who keeps it has a stream that is gone";
}

}  // namespace
}  // namespace dedupfs::tools
