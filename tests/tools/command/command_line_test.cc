#include "command/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command/command.h"

namespace dedupfs::tools {
namespace {

using testing::ElementsAre;
using Value = CommandLine::Value;

std::vector<std::string> names_in(const CommandLine& line) {
  std::vector<std::string> names;
  for (const CommandLine::Option& option : line.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

class CommandLines : public testing::Test {
 protected:
  std::string text;
  bool flag = false;
  Command app{"meaning", "tool"};
};

TEST_F(CommandLines, HaveTheOptionsOfGroupsOnceAndNoHiddenOnes) {
  app.add_option_group("modes", "").add_flag("-n,--never", flag, "");
  app.add_flag("--secret", flag, "").hide();

  EXPECT_THAT(names_in(command_line_of(app, {})), ElementsAre("-h", "--help", "-n", "--never"));
}

TEST_F(CommandLines, TellValuesByThePlaceholdersOfTheHelp) {
  app.add_option("--number", text, "").type_name("N");
  app.add_option("--plot", text, "").type_name("DIR");
  app.add_option("--file", text, "").type_name("PATH");
  app.add_option("--chunker", text, "").type_name("SPEC");
  app.add_option("--methods", text, "").type_name("A,B,...");

  const CommandLine line = command_line_of(app, {{"--chunker", {"gear"}}, {"--methods", {"odess"}}});

  std::vector<Value> values;
  for (const CommandLine::Option& option : line.options) values.push_back(option.value);
  EXPECT_THAT(values,
              ElementsAre(Value::kNone, Value::kText, Value::kFolder, Value::kFile, Value::kWord, Value::kList));
  EXPECT_THAT(line.options[4].words, ElementsAre("gear"));
}

TEST_F(CommandLines, HaveArgumentsAndCommandsApartFromOptions) {
  Command& command = app.add_subcommand("create", "makes one");
  command.add_option("VOLUME", text, "");
  command.add_option("NAME", text, "");

  const CommandLine line = command_line_of(app, {});

  EXPECT_THAT(names_of(line.commands), ElementsAre("create"));
  EXPECT_THAT(line.commands[0].arguments, ElementsAre(Value::kFolder, Value::kText));
  EXPECT_EQ(kind_of_arguments(line.commands[0]), Value::kFolder);
}

}  // namespace
}  // namespace dedupfs::tools
