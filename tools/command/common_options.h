// The options that every program has beside --help.
//
// Threads: one.
#pragma once

namespace CLI {
class App;
}

namespace dedupfs::tools {

// Adds -V and --version. They end the parsing with an exception of CLI11, as --help does.
void define_common_options(CLI::App& app);

}  // namespace dedupfs::tools
