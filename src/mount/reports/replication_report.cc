#include "mount/reports/replication_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/size.h"
#include "json/document.h"

namespace dedupfs {
namespace {

std::int64_t whole_seconds(std::chrono::system_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

nlohmann::json shipped_json(const Shipper::Shipped& shipped) {
  return {{"objects", shipped.objects}, {"bytes", shipped.bytes}, {"head_bytes", shipped.head_bytes}};
}

nlohmann::json requests_json(const BucketRequests& counts) {
  return {{"put", counts[BucketRequest::kPut]},
          {"list", counts[BucketRequest::kList]},
          {"get", counts[BucketRequest::kGet]},
          {"head", counts[BucketRequest::kHead]},
          {"delete", counts[BucketRequest::kDelete]}};
}

}  // namespace

nlohmann::json replication_json(const BackgroundShipper* shipper, const Volume& volume) {
  if (shipper != nullptr) return replication_json(shipper->status());
  const auto copy = BackgroundShipper::status_of_copy(volume);
  return copy ? replication_json(*copy) : nlohmann::json();
}

nlohmann::json replication_json(const BackgroundShipper::Status& status, std::chrono::system_clock::time_point now) {
  nlohmann::json json = {
      {"address", status.where.address},
      {"role", status.is_copy     ? "copy"
               : status.is_fenced ? "fenced"
                                  : "writer"},
      {"epoch", status.epoch},
      {"head", status.sequence},
      {"lacking_bytes", status.lacking_bytes},
      {"most_lacking_bytes",
       status.most_lacking_bytes != 0 ? nlohmann::json(status.most_lacking_bytes) : nlohmann::json()},
      {"waiting_writers", status.waiting_writers},
      {"writers_refused", status.are_writers_refused},
      {"evicted_containers", status.evicted.containers},
      {"cached_bytes", status.evicted.cached_bytes},
      {"fetched_bytes", status.evicted.fetched_bytes},
      {"fetches", status.evicted.fetches},
      {"requests", requests_json(status.requests)},
      {"requests_seconds", status.counted.count()},
      {"lag_seconds", nullptr},
      {"running", status.is_shipping},
      {"tries", status.tries},
      {"shipped_bytes", status.shipped_bytes},
      {"last", status.shipped ? shipped_json(*status.shipped) : nlohmann::json()},
      {"error", status.failure ? nlohmann::json(*status.failure) : nlohmann::json()},
  };
  std::optional<std::int64_t> captured;
  if (status.captured) {
    captured = whole_seconds(status.captured->time_since_epoch());
    json["lag_seconds"] = std::max<std::int64_t>(0, whole_seconds(now - *status.captured));
  }
  put_time(json, "captured", captured);
  return json;
}

std::string replication_screen(const nlohmann::json& json) {
  const std::string address = printable(json.at("address").get<std::string>());
  if (json.at("role") == "copy")
    return fmt::format(
        "Remote: this volume is a copy of {}, and ships nothing there. dedupfs-remote takeover changes that\n",
        address);
  if (json.at("role") == "fenced")
    return fmt::format("Remote: {} has another writer. This volume is read-only, and not shipped any more\n", address);
  std::string text = "Remote: " + address;
  const auto& lag = json.at("lag_seconds");
  text += lag.is_null() ? std::string(" got nothing in this mount yet")
                        : fmt::format(" has all of {} seconds ago", lag.get<std::uint64_t>());
  if (const auto lacking = json.at("lacking_bytes").get<std::uint64_t>(); lacking != 0) {
    const auto& most = json.at("most_lacking_bytes");
    text += fmt::format(", and lacks {} of content", human_size(lacking));
    if (!most.is_null()) text += fmt::format(" ({} at most)", human_size(most.get<std::uint64_t>()));
  }
  if (json.at("writers_refused").get<bool>())
    text += "; there is no room for new data until more is there";
  else if (const auto writers = json.at("waiting_writers").get<std::uint64_t>(); writers != 0)
    text += fmt::format("; {} {} until more is there", writers, writers == 1 ? "writer waits" : "writers wait");
  if (const auto evicted = json.at("evicted_containers").get<std::uint64_t>(); evicted != 0)
    text += fmt::format("; {} containers are only there", evicted);
  if (json.at("running").get<bool>()) text += "; shipping now";
  if (const auto& error = json.at("error"); !error.is_null())
    text += fmt::format("; the last try failed: {}", printable(error.get<std::string>()));
  return text + "\n";
}

}  // namespace dedupfs
