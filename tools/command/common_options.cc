#include "command/common_options.h"

#include <map>

#include "command/command.h"
#include "command/completion.h"
#include "command/version.h"

namespace dedupfs::tools {

void define_common_options(Command& app, const ValueWords& words) {
  app.add_flag_callback(
      "-V,--version", [program = app.name()] { throw Answer(version_text(program)); },
      "print the version and how it was built");

  using MakeScript = std::string (*)(const CommandLine&);
  static const std::map<std::string, MakeScript> kShells = {
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  const auto print_script = [&app, words](const std::string& shell) {
    std::string script = kShells.at(shell)(command_line_of(app, words));
    script.pop_back();  // the end of the last line is printed anyway
    throw Answer(script);
  };
  std::vector<std::string> shells;
  shells.reserve(kShells.size());
  for (const auto& [shell, make] : kShells) shells.push_back(shell);
  app.add_option_function("--completion", print_script, "").one_of(shells).hide();  // the build calls it
}

}  // namespace dedupfs::tools
