#include "command/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Commands : public testing::Test {
 protected:
  // What is wrong; "" if nothing is. No program has something to do after help or an answer.
  std::string error_of(const std::vector<std::string>& arguments) {
    const auto end = app.parse(arguments, out, err);
    return end ? end->error.value_or("answered") : "";
  }

  std::ostringstream out, err;
  Command app{"A tool.", "tool"};
};

TEST_F(Commands, SetVariablesOfEachType) {
  std::string text;
  std::vector<std::string> list;
  unsigned small = 0;
  std::uint64_t large = 0;
  double fraction = 0;
  std::optional<int> descriptor;
  std::optional<std::uint64_t> limit, other_limit;
  bool flag = false;
  app.add_option("--text", text, "");
  app.add_option("--list", list, "");
  app.add_option("--small", small, "");
  app.add_option("--large", large, "");
  app.add_option("--fraction", fraction, "");
  app.add_option("--descriptor", descriptor, "");
  app.add_option("--limit", limit, "");
  app.add_option("--other-limit", other_limit, "");
  app.add_flag("--flag", flag, "");

  EXPECT_EQ(error_of({"--text", "a b", "--list", "x", "y", "--small=7", "--large", "18446744073709551615", "--fraction",
                      "0.5", "--descriptor", "-3", "--limit", "9", "--flag"}),
            "");

  EXPECT_EQ(text, "a b");
  EXPECT_THAT(list, ElementsAre("x", "y"));
  EXPECT_EQ(small, 7U);
  EXPECT_EQ(large, 18446744073709551615U);
  EXPECT_EQ(fraction, 0.5);
  EXPECT_EQ(descriptor, -3);
  EXPECT_EQ(limit, 9U);
  EXPECT_EQ(other_limit, std::nullopt);
  EXPECT_TRUE(flag);
}

TEST_F(Commands, ParseNoValueOfAnotherType) {
  unsigned number = 0;
  app.add_option("--number", number, "");

  EXPECT_THAT(error_of({"--number", "x"}), HasSubstr("--number"));
  EXPECT_THAT(err.str(), AllOf(HasSubstr("--number"), HasSubstr("Run with --help")));
  EXPECT_EQ(out.str(), "");
}

TEST_F(Commands, CheckValues) {
  std::uint64_t count = 0;
  double percent = 0;
  std::optional<int> descriptor;
  std::optional<std::uint64_t> limit;
  std::string kind, file;
  app.add_option("--count", count, "").in_range(std::uint64_t{1}, std::uint64_t{9});
  app.add_option("--percent", percent, "").in_range(0.0, 99.5);
  app.add_option("--descriptor", descriptor, "").not_negative();
  app.add_option("--kind", kind, "").one_of({"borg", "restic"});
  app.add_option("--limit", limit, "");
  app.add_option("--file", file, "").not_empty();

  EXPECT_EQ(error_of({"--count", "9", "--percent", "99.5", "--descriptor", "0", "--kind", "restic"}), "");

  // CLI11 2.3 says "1 to 9", and 2.4 "[1 - 9]".
  EXPECT_THAT(error_of({"--count", "10"}), ContainsRegex("^--count: Value 10 not in range \\[?1 (to|-) 9"));
  EXPECT_THAT(error_of({"--percent", "99.6"}), HasSubstr("not in range"));
  EXPECT_EQ(error_of({"--descriptor", "-1"}), "--descriptor: '-1' is not a whole number, 0 or more");
  EXPECT_EQ(error_of({"--descriptor", ""}), "--descriptor: '' is not a whole number, 0 or more");
  EXPECT_EQ(error_of({"--count", "-1"}), "--count: '-1' is not a whole number, 0 or more");
  EXPECT_EQ(error_of({"--limit", "-1"}), "--limit: '-1' is not a whole number, 0 or more");
  EXPECT_EQ(error_of({"--file", ""}), "--file: it is empty");
  EXPECT_EQ(error_of({"--kind", "tar"}), "--kind: tar not in {borg,restic}");
}

TEST_F(Commands, CheckWhichOptionsGoTogether) {
  std::string volume;
  bool flag = false;
  const Option volume_option = app.add_option("VOLUME", volume, "").required();
  const Option one = app.add_flag("--one", flag, "");
  const Option two = app.add_flag("--two", flag, "").excludes(one).excludes("--one");
  app.add_flag("--three", flag, "").needs(two);
  Command& group = app.add_option_group("modes", "");
  group.require_option(0, 1);
  group.add_flag("-a", flag, "");
  group.add_flag("-b", flag, "");
  group.excludes(two);

  EXPECT_EQ(error_of({"--one", "v"}), "");
  EXPECT_FALSE(one.empty());
  EXPECT_TRUE(two.empty());

  EXPECT_EQ(error_of({}), "VOLUME is required");
  EXPECT_TRUE(volume_option.empty());
  EXPECT_THAT(error_of({"v", "--one", "--two"}), HasSubstr("excludes"));
  EXPECT_EQ(error_of({"v", "--three"}), "--three requires --two");
  EXPECT_THAT(error_of({"v", "-a", "-b"}), HasSubstr("at most 1"));
  EXPECT_THAT(error_of({"v", "-a", "--two"}), HasSubstr("excludes"));
}

TEST_F(Commands, CountValues) {
  std::vector<std::string> names, lists, snapshots, rest;
  app.add_option("--names", names, "").expected(0, 2);
  app.add_option("-o", lists, "").one_value_each_time();
  app.add_option("--snapshot", snapshots, "").expected(1).one_value_each_time().take_all();
  app.add_option("REST", rest, "");

  EXPECT_EQ(error_of({"-o", "a", "r", "-o", "b", "--snapshot", "s", "--snapshot", "t", "--names"}), "");

  EXPECT_THAT(names, ElementsAre(""));
  EXPECT_THAT(lists, ElementsAre("a", "b"));
  EXPECT_THAT(snapshots, ElementsAre("s", "t"));
  EXPECT_THAT(rest, ElementsAre("r"));
}

TEST_F(Commands, OfAProgramAreReadOnTheirOwn) {
  bool flag = false;
  app.require_subcommand();
  Command& create = app.add_subcommand("create", "makes one");
  Command& list = app.add_subcommand("list", "shows all");
  create.add_flag("--dry-run", flag, "");
  std::string called;
  list.callback([&] { called = "list"; });

  EXPECT_EQ(error_of({"list"}), "");

  EXPECT_EQ(called, "list");
  EXPECT_TRUE(list.parsed());
  EXPECT_FALSE(create.parsed());
  EXPECT_TRUE(app.defines("--dry-run"));
  EXPECT_FALSE(app.defines("--progress"));
  EXPECT_EQ(error_of({}), "A subcommand is required");
  EXPECT_NE(error_of({"list", "--dry-run"}), "");
}

TEST_F(Commands, CallbacksSayWhatIsWrong) {
  app.add_option_function(
      "--until", [](const std::string& text) { throw UsageError("--until: no time: " + text); }, "");
  app.add_flag_callback(
      "--fail", [] { throw UsageError("it fails"); }, "");
  app.callback([] { throw UsageError("name something"); });

  EXPECT_EQ(error_of({"--until", "x"}), "--until: no time: x");
  EXPECT_EQ(error_of({"--fail"}), "it fails");
  EXPECT_EQ(error_of({}), "name something");

  EXPECT_THAT(err.str(), HasSubstr("name something\nRun with --help for more information.\n"));
  EXPECT_EQ(out.str(), "");
}

TEST_F(Commands, AreAnsweredInsteadOfCarriedOut) {
  std::string volume;
  app.add_option("VOLUME", volume, "").required();
  app.add_flag_callback(
      "--facts", [] { throw Answer("two facts"); }, "");

  EXPECT_EQ(error_of({"--facts"}), "answered") << "also without the arguments that are required";

  EXPECT_EQ(out.str(), "two facts\n");
  EXPECT_EQ(err.str(), "");
}

TEST_F(Commands, HaveHelp) {
  unsigned seconds = 30;
  bool flag = false;
  app.footer("The end.");
  app.add_option("--limit", seconds, "how long").type_name("SECONDS").capture_default_str();
  app.add_flag("--secret", flag, "nobody's business").hide();
  app.add_flag("--json", "JSON").description("one object");

  EXPECT_EQ(error_of({"--help"}), "answered");

  // The spaces between are CLI11's business.
  EXPECT_THAT(out.str(), StartsWith("A tool.\nUsage: tool [OPTIONS]\n"));
  EXPECT_THAT(out.str(), ContainsRegex("\n  --limit SECONDS.*30.* how long\n"));
  EXPECT_THAT(out.str(), ContainsRegex("\n  --json +one object\n"));
  EXPECT_THAT(out.str(), EndsWith("The end.\n"));
  EXPECT_THAT(out.str(), Not(HasSubstr("secret")));
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace dedupfs::tools
