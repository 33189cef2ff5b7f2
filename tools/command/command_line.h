// The command line of a program as its Command defines it, in the form that completions need. Hidden options are left out, option
// groups are taken apart.
//
// Threads: values; free functions are safe from any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dedupfs::tools {

class Command;

// Words that the value of an option may begin with, by the last name of the option ("--chunker", "-o").
using ValueWords = std::map<std::string, std::vector<std::string>>;

// The names in a registry.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

struct CommandLine {
  // What stands for a value. Of kText a shell knows nothing; kList is words with commas between them.
  enum class Value { kNone, kText, kFile, kFolder, kWord, kList };

  struct Option {
    std::vector<std::string> names;  // "-o", "--json"
    std::string meaning;             // one line
    Value value = Value::kNone;
    std::vector<std::string> words;  // of kWord and kList; a word that ends with '=' is to be continued
  };

  std::string name;     // of the program, or of the command
  std::string meaning;  // one line
  std::vector<Option> options;
  std::vector<Value> arguments;  // those without a name, in their order; the last one may repeat
  std::vector<CommandLine> commands;
};

CommandLine command_line_of(const Command& command, const ValueWords& words);

// The kind of arguments as a whole, for shells that do not count them: files if one is a file, folders if one is a folder.
CommandLine::Value kind_of_arguments(const CommandLine& line);

}  // namespace dedupfs::tools
