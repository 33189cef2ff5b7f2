// What a store of objects charges.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace dedupfs::tools {

class Command;

// Of Amazon S3 Standard, us-east-1, as docs/scale-out.md has them.
struct StorePrices {
  double storage = 0.023;  // $ a GB and month
  double put = 0.005;      // $ a thousand, for listings, too
  double get = 0.0004;     // $ a thousand
  double egress = 0.09;    // $ a GB, out to the internet
};

void define_price_options(Command& command, StorePrices& prices);

// The documented object "cost": to keep so many bytes for a month, to read so many in so many requests, once, and for the requests of a
// month, if there are as many as those that `mount` has sent (the documented object "mount", or null).
nlohmann::json cost_json(const StorePrices& prices, std::uint64_t kept_bytes, std::uint64_t gets,
                         std::uint64_t read_bytes, const nlohmann::json& mount);

}  // namespace dedupfs::tools
