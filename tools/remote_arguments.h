// The command line of dedupfs-remote(8).
//
// Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "replica/open_bucket.h"
#include "replica/parallel.h"
#include "store_prices.h"

namespace dedupfs::tools {

class Command;

struct RemoteToolArguments {
  std::string action;
  std::string target;  // the folder of a volume, or the address of a bucket
  std::string folder;  // of the clone
  RemoteAddress where;
  std::string rate;
  std::uint64_t parallel = kDefaultParallel;
  std::optional<std::uint64_t> grace_hours;
  bool reads_all = false;
  bool repairs = false;
  bool index_only = false;
  bool foreign = false;
  StorePrices prices;

  bool names_bucket() const { return is_bucket_address(target); }
};

void define_remote_commands(Command& app, RemoteToolArguments& asked);
// What options mean together. kInvalidArgument names the one that is wrong, or has no meaning beside the others.
Result<void> finish_arguments(RemoteToolArguments& asked);

}  // namespace dedupfs::tools
