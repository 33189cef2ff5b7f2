#include "mount/reports/performance_report.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace dedupfs {
namespace {

nlohmann::json fields_of(const RequestMeter::Reading& reading) {
  return {{"count", reading.count},
          {"errors", reading.errors},
          {"bytes", reading.bytes},
          {"seconds", reading.seconds},
          {"buckets", reading.buckets}};
}

nlohmann::json fields_of(const WorkMeter::Reading& reading) {
  return {{"batches", reading.batches}, {"bytes", reading.bytes}, {"seconds", reading.seconds}};
}

nlohmann::json fields_of(const CacheMeter::Reading& reading) {
  return {{"hits", reading.hits}, {"misses", reading.misses}};
}

nlohmann::json fields_of(std::uint64_t waiting) {
  return {{"waiting", waiting}};
}

template <class Reading>
nlohmann::json list_of(const std::vector<Named<Reading>>& readings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Named<Reading>& one : readings) {
    nlohmann::json fields = fields_of(one.reading);
    fields["name"] = one.name;
    list.push_back(std::move(fields));
  }
  return list;
}

}  // namespace

nlohmann::json performance_json(const MeterReadings& readings, MeterClock::duration since_mount) {
  return {{"mounted_seconds", std::chrono::duration<double>(since_mount).count()},
          {"bucket_seconds", RequestMeter::kBoundsSeconds},
          {"operations", list_of(readings.requests)},
          {"stages", list_of(readings.stages)},
          {"waits", list_of(readings.waits)},
          {"caches", list_of(readings.caches)},
          {"queues", list_of(readings.queues)}};
}

}  // namespace dedupfs
