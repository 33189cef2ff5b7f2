#include "console.h"

#include <CLI/CLI.hpp>

namespace dedupfs::tools {

std::vector<std::string> arguments_of(int argc, const char* const* argv) {
  return argc == 0 ? std::vector<std::string>() : std::vector<std::string>(argv + 1, argv + argc);
}

std::string program_of(int argc, const char* const* argv) {
  return argc == 0 ? std::string() : argv[0];
}

std::optional<int> Console::parse(CLI::App& app, Arguments arguments) const {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // the library takes the last one first
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out_, err_) == 0 ? end(0) : contract_.usage_error;
  }
  return std::nullopt;
}

void Console::say(std::string_view line) const {
  err_ << contract_.name << ": " << line << '\n' << std::flush;
}

int Console::fail(const Error& error, int exit_code) const {
  say(error.message());
  return exit_code;
}

int Console::end(int exit_code) const {
  if (out_.flush()) return exit_code;
  say("cannot write the output: its reader has gone, or the disk is full");
  return contract_.failed;
}

}  // namespace dedupfs::tools
