#include "command/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "command/command.h"

namespace dedupfs::tools {
namespace {

using Value = CommandLine::Value;

bool names_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// By the word that the help has for the value.
Value kind_of(std::string_view placeholder) {
  static constexpr std::array<std::string_view, 3> kFolders = {"VOLUME", "MOUNTPOINT", "DIR"};
  static constexpr std::array<std::string_view, 5> kFiles = {"PATH", "FILE", "SRC", "DST", "INPUT"};
  if (names_one_of(placeholder, kFolders)) return Value::kFolder;
  return names_one_of(placeholder, kFiles) ? Value::kFile : Value::kText;
}

CommandLine::Option option_of(const CLI::Option& defined, const ValueWords& words) {
  CommandLine::Option option{.meaning = defined.get_description()};
  for (const std::string& name : defined.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : defined.get_lnames()) option.names.push_back("--" + name);
  const bool is_flag = defined.get_items_expected_max() == 0;
  if (is_flag) return option;
  const std::string placeholder = defined.get_type_name();
  option.value = kind_of(placeholder);
  if (const auto listed = words.find(option.names.back()); listed != words.end()) {
    option.value = placeholder.find("...") == std::string::npos ? Value::kWord : Value::kList;
    option.words = listed->second;
  }
  return option;
}

void add_options(const CLI::App& app, const ValueWords& words, CommandLine& line) {
  const bool is_group = app.get_name().empty();
  for (const CLI::Option* const defined : app.get_options()) {
    if (defined->get_positional())
      line.arguments.push_back(kind_of(defined->get_name(true)));
    else if (!defined->get_group().empty() && !(is_group && defined == app.get_help_ptr()))  // a group inherits --help
      line.options.push_back(option_of(*defined, words));
  }
}

std::string first_line_of(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

CommandLine line_of(const CLI::App& app, const ValueWords& words) {
  CommandLine line{.name = app.get_name(), .meaning = first_line_of(app.get_description())};
  add_options(app, words, line);
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_name().empty())
      add_options(*below, words, line);  // an option group
    else
      line.commands.push_back(line_of(*below, words));
  }
  return line;
}

}  // namespace

CommandLine command_line_of(const Command& command, const ValueWords& words) {
  return line_of(command.app(), words);
}

Value kind_of_arguments(const CommandLine& line) {
  for (const Value kind : {Value::kFile, Value::kFolder})
    if (std::ranges::find(line.arguments, kind) != line.arguments.end()) return kind;
  return Value::kText;
}

}  // namespace dedupfs::tools
