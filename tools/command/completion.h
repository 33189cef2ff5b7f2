// Scripts that complete the command line of a program in a shell. They are made from what the program itself parses, so they cannot go
// stale. Each is the text of a file for the folder where that shell looks for completions.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <string>

#include "command/command_line.h"

namespace dedupfs::tools {

std::string bash_completion(const CommandLine& line);  // share/bash-completion/completions/PROGRAM
std::string zsh_completion(const CommandLine& line);   // share/zsh/site-functions/_PROGRAM
std::string fish_completion(const CommandLine& line);  // share/fish/vendor_completions.d/PROGRAM.fish

}  // namespace dedupfs::tools
