// The command line of a program, or of one of its commands: the options and arguments that it takes, and what they set. CLI11 does the
// parsing. It is known here and to command_line.cc only, for it takes long to compile.
//
// Failure: parse() says it. A definition that contradicts itself, such as a name that is there twice, throws an exception of CLI11.
// Threads: one.
// Ownership: a Command owns its commands and groups, and is referred to by its Options. It refers to the variables that it sets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dedupfs::tools {

// What callbacks throw to end the parsing: what is wrong with the arguments, or what the program prints instead of doing its work.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
class Answer : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option or an argument of a Command. Copies are the same option.
class Option {
 public:
  Option description(const std::string& meaning) const;
  Option type_name(const std::string& placeholder) const;  // what the help has for the value
  Option capture_default_str() const;                      // the help tells the default value
  Option default_str(const std::string& text) const;       // the same in words
  Option hide() const;                                     // the help does not have it

  Option required() const;
  Option expected(int values) const { return expected(values, values); }
  Option expected(int least, int most) const;  // values; -1: any number. In place of none a list gets an empty one
  Option one_value_each_time() const;          // what follows the value is none of this option
  Option take_all() const;                     // the values of each time count, not those of the last time only

  Option excludes(const Option& other) const;
  Option excludes(const std::string& other) const;
  Option needs(const Option& other) const;

  Option in_range(unsigned least, unsigned most) const { return in_range(std::uint64_t{least}, std::uint64_t{most}); }
  Option in_range(std::uint64_t least, std::uint64_t most) const;
  Option in_range(double least, double most) const;
  Option not_negative() const;
  Option not_empty() const;  // as the variable of a script that is not set
  Option one_of(const std::vector<std::string>& words) const;

  bool empty() const;  // it was not given

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

class Command {
 public:
  Command(const std::string& meaning, const std::string& name);
  ~Command();

  // `names` are "-o,--output", or that of an argument: "VOLUME". Several values may follow the name of a list.
  Option add_option(const std::string& names, std::string& value, const std::string& meaning);
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& meaning);
  Option add_option(const std::string& names, unsigned& value, const std::string& meaning);
  Option add_option(const std::string& names, std::uint64_t& value, const std::string& meaning);
  Option add_option(const std::string& names, double& value, const std::string& meaning);
  Option add_option(const std::string& names, std::optional<int>& value, const std::string& meaning);
  Option add_option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& meaning);
  Option add_option_function(const std::string& names, const std::function<void(const std::string&)>& take,
                             const std::string& meaning);
  Option add_flag(const std::string& names, bool& value, const std::string& meaning);
  Option add_flag(const std::string& names, const std::string& meaning);
  Option add_flag_callback(const std::string& names, const std::function<void()>& take, const std::string& meaning);

  // They live as long as this command.
  Command& add_subcommand(const std::string& name, const std::string& meaning);
  Command& add_option_group(const std::string& name, const std::string& meaning);

  void require_subcommand();
  void require_option(std::size_t least, std::size_t most);  // of its options
  void excludes(const Option& other);                        // all of its options
  void callback(const std::function<void()>& check);         // runs when all options have been read
  void example(const std::string& line);                     // the common case, at the beginning of the help
  void footer(const std::string& text);

  const std::string& name() const;
  Option get_option(const std::string& name);
  bool defines(const std::string& option) const;  // it, or one of its commands
  bool parsed() const;                            // of a command: it was given

  // Why there is nothing to do: what is wrong has been said on `err`; or, without an error, help or an Answer was printed to `out`.
  struct End {
    std::optional<std::string> error;
  };
  std::optional<End> parse(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

  const CLI::App& app() const { return app_; }  // for command_line.cc, which reads it

 private:
  explicit Command(CLI::App& part);

  Command& add_part(CLI::App& part);

  const std::unique_ptr<CLI::App> own_;  // none in a part of another command
  CLI::App& app_;
  std::vector<std::unique_ptr<Command>> parts_;
};

}  // namespace dedupfs::tools
