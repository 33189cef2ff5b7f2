// The options of a program that say how the bucket at an address is reached.
//
// Threads: one.
#pragma once

#include <string>

#include "replica/remote_file.h"

namespace dedupfs::tools {

class Command;

// They fill in all of `where` but the address itself, and the rate. `region`: the name of that option.
void define_bucket_options(Command& command, RemoteAddress& where, const std::string& region = "--region");

// For a volume in a folder. kInvalidArgument if the options say how a store is reached.
Result<void> require_no_store(const RemoteAddress& where, const std::string& volume);

}  // namespace dedupfs::tools
