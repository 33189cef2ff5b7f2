#include "command/common_options.h"

#include <CLI/CLI.hpp>
#include <map>

#include "command/completion.h"
#include "command/version.h"

namespace dedupfs::tools {

void define_common_options(CLI::App& app, const ValueWords& words) {
  app.set_version_flag(
      "-V,--version", [program = app.get_name()] { return version_text(program); },
      "print the version and how it was built");

  using MakeScript = std::string (*)(const CommandLine&);
  static const std::map<std::string, MakeScript> kShells = {
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  const auto print_script = [&app, words](const std::string& shell) {
    std::string script = kShells.at(shell)(command_line_of(app, words));
    script.pop_back();                     // the end of the last line is printed anyway
    throw CLI::CallForVersion(script, 0);  // ends the parsing, as --version does
  };
  app.add_option_function<std::string>("--completion", print_script)
      ->check(CLI::IsMember(kShells))
      ->group("");  // hidden: the build calls it
}

}  // namespace dedupfs::tools
