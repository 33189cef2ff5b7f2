#include "console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "command/command.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
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

// The console after it has parsed the arguments of a tool with --json, and perhaps --progress.
struct JsonRun {
  explicit JsonRun(const std::vector<std::string>& arguments, bool has_progress = false) {
    add_json_flag(app, "JSON");
    if (has_progress) app.add_flag("--progress", "progress");
    parsed = console.parse(app, arguments);
  }

  std::ostringstream out, err;
  Console console{{.name = "tool", .usage_error = 1, .failed = 2}, out, err};
  Command app{"A tool.", "tool"};
  std::optional<int> parsed;
};

TEST(Console, WithJsonTheOutputIsADocument) {
  const JsonRun run({"--json"});

  EXPECT_EQ(run.parsed, std::nullopt);
  EXPECT_TRUE(run.console.as_json());
  run.console.print("tool", {{"a", 1}});

  EXPECT_EQ(run.out.str(), "{\n  \"a\": 1,\n  \"schema\": \"tool\",\n  \"schema_version\": 1\n}\n");
}

TEST(Console, WithJsonAnErrorIsADocument) {
  const JsonRun run({"--json"});

  EXPECT_EQ(run.console.fail({ErrorCode::kIo, "broken"}, 7), 7);

  EXPECT_EQ(run.err.str(), "tool: broken\n");
  EXPECT_EQ(run.out.str(),
            "{\"error\":{\"exit_code\":7,\"message\":\"broken\"},\"schema\":\"error\",\"schema_version\":1}\n");
}

TEST(Console, WithJsonWrongArgumentsAreADocument) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--json", "--nonsense"}, {"--nonsense", "--json"}}) {
    const JsonRun run(arguments);

    EXPECT_EQ(run.parsed, 1);
    EXPECT_THAT(run.out.str(), AllOf(HasSubstr("\"exit_code\":1"), HasSubstr("--nonsense")));
  }
  EXPECT_EQ(JsonRun({"--nonsense"}).out.str(), "");
  EXPECT_EQ(JsonRun({"--nonsense", "--", "--json"}).out.str(), "") << "the name of a file";
}

TEST(Console, WithProgressTheLastLineIsAnEvent) {
  const JsonRun done({"--json", "--progress"}, true), failed({"--json", "--progress"}, true);

  done.console.print("tool", {{"a", 1}});
  failed.console.fail({ErrorCode::kIo, "broken"});

  EXPECT_EQ(done.out.str(), "{\"a\":1,\"event\":\"result\",\"schema\":\"tool\",\"schema_version\":1}\n");
  EXPECT_THAT(failed.out.str(), HasSubstr("\"event\":\"error\""));
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
