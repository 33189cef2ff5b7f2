#include "mount/reports/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace dedupfs {
namespace {

using Json = nlohmann::json;

// Threads that write are held up for this part of the time, or more: the daemon cannot keep up with them.
constexpr double kHeldUp = 0.1;
// So much of the CPUs is in use: there is hardly more.
constexpr double kBusyCpus = 0.8;

constexpr std::pair<std::string_view, std::string_view> kStages[] = {
    {"cut", "cutting content into chunks"},
    {"fingerprint", "fingerprints of chunks (SHA-256)"},
    {"look_up", "looking chunks up in the index"},
    {"delta", "deltas (finding and reading similar chunks, and encoding)"},
    {"compress", "compression"},
    {"append", "the disk (appending to containers)"},
    {"sync", "the disk (making containers durable)"},
    {"commit", "writing the index"},
};

bool is_background(const Json& stage) {
  return stage.at("name") == "move";
}

std::string text_of_stage(const Json& stage) {
  const auto name = stage.at("name").get<std::string>();
  const auto* const found = std::ranges::find(kStages, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kStages) ? name : std::string(found->second);
}

class Bottleneck {
 public:
  explicit Bottleneck(const Json& rates) : rates_(rates), cpus_(std::max(1.0, rates.at("cpus").get<double>())) {
    for (const Json& stage : rates.at("stages")) {
      const double busy = stage.at("busy_threads").get<double>();
      (is_background(stage) ? background_ : ingest_) += busy;
      if (is_background(stage)) continue;
      new_bytes_ = std::max(new_bytes_, stage.at("bytes_per_second").get<double>());
      if (busiest_ == nullptr || busy > busiest_->at("busy_threads").get<double>()) busiest_ = &stage;
    }
    for (const Json& wait : rates.at("waits")) waits_ += wait.at("waiting_threads").get<double>();
    for (const Json& operation : rates.at("operations"))
      if (const auto name = operation.at("name").get<std::string>(); name == "fsync" || name == "fsyncdir")
        syncs_ += operation.at("running").get<double>();
  }

  std::string sentence() const {
    const double written = rates_.at("written_bytes_per_second").get<double>();
    if (syncs_ >= 0.5 && syncs_ > waits_)
      return fmt::format("Writers wait for fsync: {:.1f} of them at a time, until their data is durable.", syncs_);
    if (written == 0 && new_bytes_ == 0) return without_writers();
    if (waits_ >= kHeldUp && busiest_ != nullptr)
      return fmt::format("The bottleneck is {}: {} of the work, and writers wait for it.", text_of_stage(*busiest_),
                         share_of_busiest());
    if (ingest_ + background_ >= kBusyCpus * cpus_ && busiest_ != nullptr)
      return fmt::format("The bottleneck is the CPU: {:.1f} of {:.0f} are busy, most with {} ({}).",
                         ingest_ + background_, cpus_,
                         background_ > ingest_ ? "moving chunks in the background" : text_of_stage(*busiest_),
                         background_ > ingest_ ? percent(background_ / (ingest_ + background_)) : share_of_busiest());
    return fmt::format(
        "dedupfs is not the bottleneck: it keeps up with the {:.1f} MB/s that come, with {} of the CPUs.",
        written / 1e6, percent(ingest_ / cpus_));
  }

 private:
  static std::string percent(double part) { return fmt::format("{:.0f} %", 100 * std::min(part, 1.0)); }
  std::string share_of_busiest() const {
    return percent(ingest_ == 0 ? 0 : busiest_->at("busy_threads").get<double>() / ingest_);
  }
  std::string without_writers() const {
    const double read = rates_.at("read_bytes_per_second").get<double>();
    const std::string jobs = background_ > kHeldUp ? "; a background job moves chunks" : "";
    if (read > 0) return fmt::format("Nothing is written, {:.1f} MB/s are read{}.", read / 1e6, jobs);
    if (!rates_.at("operations").empty()) return "No content is read or written" + jobs + ".";
    return "Nobody uses the mount" + jobs + ".";
  }

  const Json& rates_;
  const double cpus_;
  double ingest_ = 0;      // threads
  double background_ = 0;  // threads
  double new_bytes_ = 0;   // each second, of the stage that has most
  double waits_ = 0;       // threads
  double syncs_ = 0;       // operations at a time
  const Json* busiest_ = nullptr;
};

}  // namespace

std::string bottleneck_of(const Json& rates) {
  return Bottleneck(rates).sentence();
}

}  // namespace dedupfs
