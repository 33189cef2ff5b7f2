#include "store_prices.h"

#include <nlohmann/json.hpp>
#include <string>

#include "command/command.h"

namespace dedupfs::tools {

void define_price_options(Command& command, StorePrices& prices) {
  const auto add = [&](const std::string& name, double& price, const std::string& meaning) {
    command.add_option(name, price, meaning).type_name("DOLLARS").capture_default_str();
  };
  add("--storage-price", prices.storage, "what a GB costs in a month");
  add("--get-price", prices.get, "what a thousand GETs cost");
  add("--egress-price", prices.egress, "what it costs to read a GB");
}

nlohmann::json cost_json(const StorePrices& prices, std::uint64_t kept_bytes, std::uint64_t gets,
                         std::uint64_t read_bytes) {
  constexpr double kGigabyte = 1e9;
  return {{"storage_price", prices.storage},
          {"get_price", prices.get},
          {"egress_price", prices.egress},
          {"storage_a_month", static_cast<double>(kept_bytes) / kGigabyte * prices.storage},
          {"clone", static_cast<double>(gets) / 1000 * prices.get +
                        static_cast<double>(read_bytes) / kGigabyte * prices.egress}};
}

}  // namespace dedupfs::tools
