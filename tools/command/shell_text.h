// What the scripts for all shells are put together from.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dedupfs::tools {

std::string joined(const std::vector<std::string>& words, std::string_view between);

// In single quotes. bash and zsh end the quotes for a quote in the text; fish takes a backslash.
std::string shell_quoted(std::string_view text);
std::string fish_quoted(std::string_view text);

// With a backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special);

}  // namespace dedupfs::tools
