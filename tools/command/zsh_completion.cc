#include <fmt/format.h>

#include <string>

#include "command/completion.h"
#include "command/shell_text.h"

namespace dedupfs::tools {
namespace {

using Value = CommandLine::Value;

// For a spec of _arguments.
std::string in_spec(std::string_view text) {
  return escaped(text, R"([]:\)");
}

// How _arguments completes a value.
std::string action(Value value, const std::vector<std::string>& words) {
  switch (value) {
    case Value::kFile: return "_files";
    case Value::kFolder: return "_files -/";
    case Value::kWord: return "(" + in_spec(joined(words, " ")) + ")";
    case Value::kList: return "_sequence compadd -S \"\" - " + in_spec(joined(words, " "));
    case Value::kNone:
    case Value::kText: break;
  }
  return " ";
}

std::string arguments_call(const CommandLine& line, std::string_view indent) {
  std::string text = fmt::format("{}_arguments -s -S -C", indent);
  const auto add = [&](const std::string& spec) { text += fmt::format(" \\\n{}  {}", indent, shell_quoted(spec)); };
  for (const CommandLine::Option& option : line.options) {
    const std::string other_names = option.names.size() > 1 ? "(" + joined(option.names, " ") + ")" : "";
    for (const std::string& name : option.names) {
      std::string spec = other_names + name;
      if (option.value != Value::kNone && name.starts_with("--")) spec += "=";  // behind '=' or in the next word
      spec += "[" + in_spec(option.meaning) + "]";
      if (option.value != Value::kNone) spec += ":value:" + action(option.value, option.words);
      add(spec);
    }
  }
  if (!line.commands.empty()) {
    add("1: :->command");
    add("*:: :->arguments");
  }
  for (std::size_t i = 0; i < line.arguments.size(); ++i) {
    const bool is_last = i + 1 == line.arguments.size();
    add(fmt::format("{}:argument:{}", is_last ? "*" : std::to_string(i + 1), action(line.arguments[i], {})));
  }
  return text + '\n';
}

std::string commands_of(const CommandLine& line) {
  std::string descriptions, cases;
  for (const CommandLine& command : line.commands) {
    descriptions += fmt::format("      {}\n", shell_quoted(command.name + ":" + command.meaning));
    cases += fmt::format("      {})\n{}        ;;\n", command.name, arguments_call(command, "        "));
  }
  return fmt::format(
      "case $state in\n"
      "  command)\n"
      "    local -a commands=(\n{}    )\n"
      "    _describe command commands\n"
      "    ;;\n"
      "  arguments)\n"
      "    case $line[1] in\n{}    esac\n"
      "    ;;\n"
      "esac\n",
      descriptions, cases);
}

}  // namespace

// zsh loads the file as the body of the function.
std::string zsh_completion(const CommandLine& line) {
  return fmt::format(
      "#compdef {0}\n"
      "# zsh completion, made by: {0} --completion zsh\n"
      "local curcontext=$curcontext context state state_descr line\n"
      "typeset -A opt_args\n"
      "{1}{2}",
      line.name, arguments_call(line, ""), line.commands.empty() ? "" : commands_of(line));
}

}  // namespace dedupfs::tools
