#include "command/common_options.h"

#include <CLI/CLI.hpp>

#include "command/version.h"

namespace dedupfs::tools {

void define_common_options(CLI::App& app) {
  app.set_version_flag(
      "-V,--version", [program = app.get_name()] { return version_text(program); },
      "print the version and how it was built");
}

}  // namespace dedupfs::tools
