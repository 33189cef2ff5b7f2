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
  add("--put-price", prices.put, "what a thousand PUTs or listings cost");
  add("--get-price", prices.get, "what a thousand GETs cost");
  add("--egress-price", prices.egress, "what it costs to read a GB");
}

namespace {

// Null: what was counted is nothing, or too little to go by.
nlohmann::json requests_a_month(const StorePrices& prices, const nlohmann::json& mount) {
  constexpr double kMonth = 30.0 * 24 * 3600;
  constexpr double kLeastSeconds = 600;
  if (mount.is_null()) return nullptr;
  const auto seconds = mount.at("requests_seconds").get<double>();
  if (seconds < kLeastSeconds) return nullptr;
  const nlohmann::json& requests = mount.at("requests");
  const auto count = [&](const char* method) { return requests.at(method).get<double>(); };
  const double cost =
      (count("put") + count("list")) / 1000 * prices.put + (count("get") + count("head")) / 1000 * prices.get;
  return cost * kMonth / seconds;
}

}  // namespace

nlohmann::json cost_json(const StorePrices& prices, std::uint64_t kept_bytes, std::uint64_t gets,
                         std::uint64_t read_bytes, const nlohmann::json& mount) {
  constexpr double kGigabyte = 1e9;
  return {{"storage_price", prices.storage},
          {"put_price", prices.put},
          {"get_price", prices.get},
          {"egress_price", prices.egress},
          {"storage_a_month", static_cast<double>(kept_bytes) / kGigabyte * prices.storage},
          {"clone",
           static_cast<double>(gets) / 1000 * prices.get + static_cast<double>(read_bytes) / kGigabyte * prices.egress},
          {"requests_a_month", requests_a_month(prices, mount)}};
}

}  // namespace dedupfs::tools
