// What --version prints: the version of the project, how the program was built, and the libraries that it runs with.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace dedupfs::tools {

std::string_view project_version();  // "0.1.0", from meson.build, the one place that has it

// The first line is "PROGRAM VERSION", for scripts. The others are for people and for reports of defects. The versions of libraries are
// those of the files that this process has loaded.
std::string version_text(std::string_view program);

}  // namespace dedupfs::tools
