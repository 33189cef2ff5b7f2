#include "console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace dedupfs::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Console, ArgumentsAreThoseBehindTheNameOfTheProgram) {
  const char* const argv[] = {"tool", "-v", "a b"};

  EXPECT_THAT(arguments_of(3, argv), ElementsAre("-v", "a b"));
  EXPECT_EQ(program_of(3, argv), "tool");
  EXPECT_THAT(arguments_of(0, argv), IsEmpty());
  EXPECT_EQ(program_of(0, argv), "");
}

TEST(Console, ErrorsCarryTheNameOfTheTool) {
  std::ostringstream out, err;
  const Console console({.name = "tool", .usage_error = 1, .failed = 2}, out, err);

  EXPECT_EQ(console.fail({ErrorCode::kIo, "broken"}), 2);
  EXPECT_EQ(console.fail({ErrorCode::kIo, "more"}, 7), 7);

  EXPECT_EQ(err.str(), "tool: broken\ntool: more\n");
  EXPECT_EQ(out.str(), "");
}

TEST(Console, OutputThatIsNotWrittenIsAFailure) {
  std::ofstream full("/dev/full");
  std::ostringstream out, err;
  const Console console({.name = "tool", .usage_error = 1, .failed = 2}, full, err);
  full << "text";

  EXPECT_EQ(console.end(0), 2);
  EXPECT_THAT(err.str(), HasSubstr("tool: cannot write the output"));
  EXPECT_EQ(Console({.name = "tool", .usage_error = 1, .failed = 2}, out, err).end(5), 5);
}

}  // namespace
}  // namespace dedupfs::tools
