#include <fmt/format.h>

#include <string>

#include "command/completion.h"
#include "command/shell_text.h"

namespace dedupfs::tools {
namespace {

using Value = CommandLine::Value;

constexpr std::string_view kFolders = " -a '(__fish_complete_directories (commandline -ct))'";

std::string value_of(const CommandLine::Option& option) {
  switch (option.value) {
    case Value::kNone: break;
    case Value::kText: return " -x";
    case Value::kFile: return " -rF";
    case Value::kFolder: return fmt::format(" -x{}", kFolders);
    case Value::kWord: return " -xa " + fish_quoted(joined(option.words, " "));
    case Value::kList: return " -xa " + fish_quoted(fmt::format("(__fish_append , {})", joined(option.words, " ")));
  }
  return "";
}

// Lines that begin with `complete`, the command of fish.
std::string lines_of(const CommandLine& line, const std::string& complete) {
  std::string text;
  for (const CommandLine::Option& option : line.options) {
    text += complete;
    for (const std::string& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += fmt::format(" -d {}{}\n", fish_quoted(option.meaning), value_of(option));
  }
  const Value argument = kind_of_arguments(line);
  if (argument == Value::kFile) text += complete + " -F\n";
  if (argument == Value::kFolder) text += fmt::format("{}{}\n", complete, kFolders);
  return text;
}

}  // namespace

std::string fish_completion(const CommandLine& line) {
  const std::string complete = "complete -c " + line.name;
  std::string text = fmt::format("# fish completion, made by: {0} --completion fish\n{1} -f\n", line.name, complete);
  if (line.commands.empty()) return text + lines_of(line, complete);
  const std::string first = complete + " -n __fish_use_subcommand";
  text += lines_of(line, first);
  for (const CommandLine& command : line.commands) {
    text += fmt::format("{} -a {} -d {}\n", first, command.name, fish_quoted(command.meaning));
    text += lines_of(command, fmt::format("{} -n '__fish_seen_subcommand_from {}'", complete, command.name));
  }
  return text;
}

}  // namespace dedupfs::tools
