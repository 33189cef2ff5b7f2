#include "store_prices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs::tools {
namespace {

TEST(StorePrices, TheRequestsOfAMonthAreThoseOfTheMount) {
  const auto requests_a_month = [](int seconds) {
    const nlohmann::json requests = {{"put", 1000}, {"list", 500}, {"get", 2000}, {"head", 1000}, {"delete", 9999}};
    const nlohmann::json mount = {{"requests", requests}, {"requests_seconds", seconds}};
    return cost_json({.put = 4, .get = 2}, 0, 0, 0, mount).at("requests_a_month");
  };
  EXPECT_DOUBLE_EQ(requests_a_month(30 * 24 * 3600).get<double>(), 1.5 * 4 + 3 * 2);
  EXPECT_DOUBLE_EQ(requests_a_month(24 * 3600).get<double>(), 30 * (1.5 * 4 + 3 * 2));
  EXPECT_TRUE(requests_a_month(599).is_null()) << "too little to go by";
}

}  // namespace
}  // namespace dedupfs::tools
