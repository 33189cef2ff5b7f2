#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "command/completion.h"
#include "command/shell_text.h"

namespace dedupfs::tools {
namespace {

using Value = CommandLine::Value;

// bash splits words at '=' and ':' and replaces the last piece only. Here $word is the whole word before the cursor, $split what bash
// has split off of it, $base what an answer keeps of it ("--name=", or a list up to its last comma). $before is the word or the option
// before it.
constexpr std::string_view kQuestion =
    R"(  local word=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD base='' split='' before kind='' words='' candidate generate
  while ((at > 1)) && [[ $word == [=:]* || ${COMP_WORDS[at - 1]} == [=:]* ]]; do
    at=$((at - 1))
    word=${COMP_WORDS[at]}$word
  done
  ((at == COMP_CWORD)) || split=${word%"${word##*[=:]}"}
  before=${COMP_WORDS[at - 1]}
  if [[ $word == --*=* ]]; then
    before=${word%%=*}
    base=$before=
  fi
)";

constexpr std::string_view kAnswer = R"(  generate=(-W "$words")
  case $kind in
    files) generate=(-f) ;;
    folders) generate=(-d) ;;
    list) [[ ${word#"$base"} != *,* ]] || base=${word%,*}, ;;
  esac
  [[ $kind != f* ]] || compopt -o filenames 2>/dev/null
  COMPREPLY=()
  while IFS= read -r candidate; do
    [[ $candidate != *= ]] || compopt -o nospace 2>/dev/null
    candidate=$base$candidate
    COMPREPLY+=("${candidate#"$split"}")
  done < <(compgen "${generate[@]}" -- "${word#"$base"}")
)";

std::string assignment(Value value, const std::vector<std::string>& words) {
  switch (value) {
    case Value::kFile: return "kind=files";
    case Value::kFolder: return "kind=folders";
    case Value::kWord: return "words=" + shell_quoted(joined(words, " "));
    case Value::kList: return "kind=list words=" + shell_quoted(joined(words, " "));
    case Value::kNone:
    case Value::kText: break;
  }
  return ":";
}

// Sets $kind and $words: of the value of an option that takes one, or else of options, commands or arguments.
std::string choice(const CommandLine& line, std::string_view indent) {
  std::string text = fmt::format("{}case $before in\n", indent);
  std::vector<std::string> options;
  for (const CommandLine::Option& option : line.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
    if (option.value != Value::kNone)
      text +=
          fmt::format("{}  {}) {} ;;\n", indent, joined(option.names, " | "), assignment(option.value, option.words));
  }
  const std::string argument = line.commands.empty() ? assignment(kind_of_arguments(line), {})
                                                     : assignment(Value::kWord, names_of(line.commands));
  return text + fmt::format("{0}  *) if [[ $word == -* ]]; then {1}; else {2}; fi ;;\n{0}esac\n", indent,
                            assignment(Value::kWord, options), argument);
}

std::string choice_by_command(const CommandLine& line) {
  std::string cases;
  for (const CommandLine& command : line.commands)
    cases += fmt::format("    {})\n{}      ;;\n", command.name, choice(command, "      "));
  return fmt::format(
      "  local command='' i\n"
      "  for ((i = 1; i < at; i++)); do\n"
      "    case ${{COMP_WORDS[i]}} in {}) command=${{COMP_WORDS[i]}} && break ;; esac\n"
      "  done\n"
      "  case $command in\n{}    *)\n{}      ;;\n  esac\n",
      joined(names_of(line.commands), " | "), cases, choice(line, "      "));
}

}  // namespace

std::string bash_completion(const CommandLine& line) {
  std::string function = "_" + line.name;
  std::ranges::replace_if(
      function, [](char c) { return c == '-' || c == '.'; }, '_');
  return fmt::format(
      "# bash completion, made by: {0} --completion bash\n"
      "{1}() {{\n{2}{3}{4}}}\n"
      "complete -F {1} {0}\n",
      line.name, function, kQuestion, line.commands.empty() ? choice(line, "  ") : choice_by_command(line), kAnswer);
}

}  // namespace dedupfs::tools
