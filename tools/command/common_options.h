// The options that every program has beside --help: --version, and --completion.
//
// Threads: one.
// Ownership: `app` keeps what it needs.
#pragma once

#include "command/command_line.h"

namespace dedupfs::tools {

class Command;

// Adds -V and --version, and the hidden option --completion SHELL, which prints a completion script. Both end the parsing, as
// --help does. `words` are for these scripts. `app` stays where it is until it has parsed.
void define_common_options(Command& app, const ValueWords& words = {});

}  // namespace dedupfs::tools
