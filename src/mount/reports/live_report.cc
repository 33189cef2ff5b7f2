#include "mount/reports/live_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "mount/reports/bottleneck.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

double mounted_seconds(const Json& answer) {
  return answer.at("performance").at("mounted_seconds").get<double>();
}

// The object of this name in a list; one without keys if there is none.
Json of_name(const Json& list, const Json& name) {
  const auto found = std::ranges::find_if(list, [&](const Json& one) { return one.at("name") == name; });
  return found == list.end() ? Json::object() : *found;
}

// How counters grew. A counter that is missing in the answer before is new, and was 0.
class Increase {
 public:
  Increase(const Json& before, const Json& after, double seconds) : before_(before), after_(after), seconds_(seconds) {}

  double of(const char* key) const { return std::max(0.0, after_.at(key).get<double>() - before_.value(key, 0.0)); }
  double rate(const char* key) const { return of(key) / seconds_; }
  std::vector<double> buckets() const {
    std::vector<double> grown = after_.at("buckets").get<std::vector<double>>();
    const auto old = before_.value("buckets", std::vector<double>());
    for (std::size_t i = 0; i < std::min(grown.size(), old.size()); ++i) grown[i] = std::max(0.0, grown[i] - old[i]);
    return grown;
  }

 private:
  const Json before_;
  const Json& after_;
  const double seconds_;
};

// So many of all took at most this long; evenly spread within a bucket, as Prometheus has it. Of the last one only its start is known.
double quantile(const std::vector<double>& buckets, const std::vector<double>& bounds, double part) {
  double all = 0;
  for (const double count : buckets) all += count;
  double left = part * all;
  for (std::size_t i = 0; i < std::min(buckets.size(), bounds.size()); ++i) {
    const double start = i == 0 ? 0 : bounds[i - 1];
    if (buckets[i] > 0 && left <= buckets[i]) return start + (bounds[i] - start) * left / buckets[i];
    left -= buckets[i];
  }
  return bounds.empty() ? 0 : bounds.back();
}

// Two lists of an answer, and the time between them.
class Comparison {
 public:
  Comparison(const Json& before, const Json& after, double seconds)
      : before_(before), after_(after), seconds_(seconds) {}

  // For each object of the list, what `rates` makes of its growth, and its name.
  template <class Rates>
  Json each(const char* list, const Rates& rates) const {
    Json result = Json::array();
    for (const Json& one : after_.at(list)) {
      const Increase growth(before_.empty() ? Json::object() : of_name(before_.at(list), one.at("name")), one,
                            seconds_);
      Json object = rates(growth);
      object["name"] = one.at("name");
      result.push_back(std::move(object));
    }
    return result;
  }

 private:
  const Json& before_;
  const Json& after_;
  const double seconds_;
};

Json operations_of(const Comparison& comparison, const std::vector<double>& bounds) {
  Json operations = comparison.each("operations", [&](const Increase& growth) {
    const double count = growth.of("count");
    return Json{{"per_second", growth.rate("count")},
                {"errors_per_second", growth.rate("errors")},
                {"bytes_per_second", growth.rate("bytes")},
                {"running", growth.rate("seconds")},
                {"mean_seconds", count == 0 ? 0 : growth.of("seconds") / count},
                {"p99_seconds", count == 0 ? 0 : quantile(growth.buckets(), bounds, 0.99)}};
  });
  std::erase_if(operations.get_ref<Json::array_t&>(), [](const Json& one) { return one.at("per_second") == 0.0; });
  std::ranges::stable_sort(operations.get_ref<Json::array_t&>(), [](const Json& a, const Json& b) {
    return a.at("running").get<double>() > b.at("running").get<double>();
  });
  return operations;
}

Json stages_of(const Comparison& comparison) {
  double all = 0;
  Json stages = comparison.each("stages", [&](const Increase& growth) {
    all += growth.rate("seconds");
    return Json{{"busy_threads", growth.rate("seconds")}, {"bytes_per_second", growth.rate("bytes")}};
  });
  for (Json& stage : stages) stage["share"] = all == 0 ? 0 : stage.at("busy_threads").get<double>() / all;
  return stages;
}

Json caches_of(const Comparison& comparison) {
  return comparison.each("caches", [](const Increase& growth) {
    const double all = growth.of("hits") + growth.of("misses");
    return Json{{"look_ups_per_second", growth.rate("hits") + growth.rate("misses")},
                {"hit_ratio", all == 0 ? Json() : Json(growth.of("hits") / all)}};
  });
}

}  // namespace

double seconds_between(const Json& before, const Json& after) {
  const double seconds = mounted_seconds(after) - mounted_seconds(before);
  return seconds < 0 ? mounted_seconds(after) : seconds;
}

Json live_rates(const Json& before, const Json& after, unsigned cpus) {
  const bool is_new_mount = mounted_seconds(after) < mounted_seconds(before);
  const double seconds = std::max(seconds_between(before, after), 1e-9);
  const Json nothing = Json::object();
  const Json& now = after.at("performance");
  const Comparison comparison(is_new_mount ? nothing : before.at("performance"), now, seconds);

  Json rates{{"seconds", seconds},
             {"cpus", cpus},
             {"mounted_seconds", mounted_seconds(after)},
             {"operations", operations_of(comparison, now.at("bucket_seconds").get<std::vector<double>>())},
             {"stages", stages_of(comparison)},
             {"waits", comparison.each("waits",
                                       [](const Increase& growth) {
                                         return Json{{"waiting_threads", growth.rate("seconds")}};
                                       })},
             {"caches", caches_of(comparison)},
             {"queues", now.at("queues")},
             {"scrub", after.at("scrub")},
             {"reclaim", after.at("reclaim")},
             {"jobs", after.value("jobs", Json::array())}};  // an older daemon tells of none
  for (const auto& [key, operation] :
       {std::pair("written_bytes_per_second", "write"), {"read_bytes_per_second", "read"}})
    rates[key] = of_name(rates.at("operations"), operation).value("bytes_per_second", 0.0);
  rates["bottleneck"] = bottleneck_of(rates);
  return rates;
}

}  // namespace dedupfs
