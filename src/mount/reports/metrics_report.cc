#include "mount/reports/metrics_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace dedupfs {
namespace {

struct Metric {
  const char* name;
  const char* key;  // of the statistics
  const char* help;
};

constexpr Metric kGauges[] = {
    {"dedupfs_logical_bytes", "logical_bytes", "Sizes of all files."},
    {"dedupfs_hole_bytes", "hole_bytes", "The part of the logical bytes in holes, which take no space."},
    {"dedupfs_unique_bytes", "unique_bytes", "Bytes that deduplication leaves."},
    {"dedupfs_after_delta_bytes", "after_delta_bytes", "Bytes that delta encoding leaves."},
    {"dedupfs_stored_bytes", "stored_bytes", "Bytes that compression leaves: those in containers."},
    {"dedupfs_snapshot_only_bytes", "snapshot_only_bytes", "Bytes in containers that only snapshots need."},
    {"dedupfs_base_only_bytes", "base_only_bytes", "Bytes in containers that only deltas need."},
    {"dedupfs_garbage_bytes", "garbage_bytes", "Bytes in containers that nothing needs: a reclaim frees them."},
    {"dedupfs_landed_bytes", "landed_bytes", "Bytes of containers that are to be settled."},
    {"dedupfs_index_bytes", "index_bytes", "Disk space of the index."},
    {"dedupfs_disk_bytes", "disk_bytes", "Disk space of the whole volume."},
    {"dedupfs_index_memory_wanted_bytes", "index_memory_wanted_bytes",
     "Memory that the index needs if its filters do not fit, otherwise 0."},
    {"dedupfs_files", "files", "Regular files."},
    {"dedupfs_directories", "directories", "Directories."},
    {"dedupfs_snapshots", "snapshots", "Snapshots."},
    {"dedupfs_chunks", "chunks", "References of files to chunks."},
    {"dedupfs_unique_chunks", "unique_chunks", "Distinct chunks."},
    {"dedupfs_delta_chunks", "delta_chunks", "Distinct chunks that are stored as deltas."},
    {"dedupfs_damaged_chunks", "damaged_chunks", "Chunks that are known to be damaged."},
    {"dedupfs_last_snapshot_timestamp_seconds", "last_snapshot_unix_seconds", "The date of the newest snapshot."},
};

constexpr Metric kCounters[] = {
    {"dedupfs_healed_chunks_total", "healed_chunks",
     "Damaged chunks that were stored again since the mount, because their content came again."},
    {"dedupfs_freed_bytes_total", "freed_bytes", "Disk space that reclaims have freed since the mount."},
};

constexpr Metric kLastScrub[] = {
    {"dedupfs_last_scrub_timestamp_seconds", "ended_unix_seconds", "When the last scrub ended."},
    {"dedupfs_last_scrub_complete", "complete", "Whether the last scrub read everything."},
    {"dedupfs_last_scrub_damaged_chunks", "damaged_chunks", "Damaged chunks that the last scrub found."},
    {"dedupfs_last_scrub_other_damage", "other_damage", "Other damage that the last scrub found."},
};

constexpr Metric kOfRemote[] = {
    {"dedupfs_remote_lacking_bytes", "lacking_bytes", "Bytes of containers that the bucket has not got."},
    {"dedupfs_remote_most_lacking_bytes", "most_lacking_bytes", "How many of them there may be before writers wait."},
    {"dedupfs_remote_waiting_writers", "waiting_writers", "Writers that wait until the bucket has more of them."},
    {"dedupfs_remote_evicted_containers", "evicted_containers", "Containers of which most is in the bucket only."},
    {"dedupfs_remote_shipped_timestamp_seconds", "captured_unix_seconds", "Of when the state is that the bucket has."},
};

constexpr Metric kCountersOfRemote[] = {
    {"dedupfs_remote_fetches_total", "fetches", "Blocks that readers needed from the bucket since the mount."},
    {"dedupfs_remote_fetched_bytes_total", "fetched_bytes", "Bytes of these blocks."},
};

// Of the object "performance": a metric for each key, with a sample for each object of a list.
constexpr Metric kOfOperations[] = {
    {"dedupfs_operation_errors_total", "errors", "Operations that failed, but for those that found nothing of a name."},
    {"dedupfs_operation_bytes_total", "bytes", "Bytes of content that operations read, wrote or copied."},
};

constexpr Metric kOfStages[] = {
    {"dedupfs_ingest_stage_seconds_total", "seconds", "Times of a stage of ingest, those of all threads together."},
    {"dedupfs_ingest_stage_bytes_total", "bytes", "Bytes that went through a stage of ingest."},
    {"dedupfs_ingest_stage_batches_total", "batches", "Batches that went through a stage of ingest."},
};

constexpr Metric kOfWaits[] = {
    {"dedupfs_ingest_wait_seconds_total", "seconds", "Times that new data waited for room in memory."},
};

constexpr Metric kOfCaches[] = {
    {"dedupfs_cache_hits_total", "hits", "Look-ups in a cache that found something."},
    {"dedupfs_cache_misses_total", "misses", "Look-ups in a cache that found nothing."},
};

constexpr Metric kOfQuotas[] = {
    {"dedupfs_quota_logical_bytes", "logical_bytes", "Data in a tree with a quota, without holes."},
    {"dedupfs_quota_logical_limit_bytes", "logical_limit_bytes", "The limit of logical bytes of a tree."},
    {"dedupfs_quota_stored_bytes", "stored_bytes", "Stored bytes that a tree needed when they were measured last."},
    {"dedupfs_quota_unmeasured_bytes", "unmeasured_bytes", "Bytes written into a tree since they were measured."},
    {"dedupfs_quota_stored_limit_bytes", "stored_limit_bytes", "The limit of stored bytes of a tree."},
    {"dedupfs_quota_files", "files", "Files and directories in a tree with a quota."},
    {"dedupfs_quota_files_limit", "files_limit", "The limit of files and directories of a tree."},
};

constexpr Metric kQueues[] = {
    {"dedupfs_running_operations", "operations", "Operations that have no answer yet."},
    {"dedupfs_unstored_bytes", "unstored_bytes", "Memory for new data that is not stored yet."},
    {"dedupfs_waiting_chunk_batches", "chunk_batches", "Batches of chunks and read-ahead that no thread has begun."},
    {"dedupfs_waiting_region_bytes", "region_bytes", "Packed chunks that are not in a container yet."},
    {"dedupfs_waiting_prefetches", "prefetches", "Read-ahead that is under way."},
};

// As the format has it: a backslash, a quote and the end of a line are escaped.
// What is not UTF-8 becomes U+FFFD, as in all JSON: a scraper takes a file with other bytes for damaged, and nothing of it.
std::string label_value(std::string_view bytes) {
  const std::string json =
      nlohmann::json(bytes).dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
  std::string value;
  for (const char c : nlohmann::json::parse(json).get<std::string>()) {
    if (c == '\n') {
      value += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

// A number or a flag; nothing for null.
std::optional<std::string> value_of(const nlohmann::json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  return fmt::format("{}", value.get<double>());
}

// Metrics with the labels of a volume.
class Text {
 public:
  Text(const MetricsContext& context, MetricsFormat format)
      : format_(format),
        labels_(fmt::format("volume=\"{}\",mountpoint=\"{}\"", label_value(context.volume),
                            label_value(context.mountpoint))) {}

  // What follows are samples of this metric.
  void begin(const char* type, std::string_view name, const char* help) {
    // In OpenMetrics, the suffix belongs to the sample of a counter, not to the metric.
    if (format_ == MetricsFormat::kOpenMetrics && name.ends_with("_total")) name.remove_suffix(6);
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void sample(std::string_view name, const std::string& number, const std::string& more_labels = {}) {
    text_ += fmt::format("{}{{{}{}}} {}\n", name, labels_, more_labels, number);
  }
  void add(const char* type, const Metric& metric, const nlohmann::json& value, const std::string& more_labels = {}) {
    const auto number = value_of(value);
    if (!number) return;
    begin(type, metric.name, metric.help);
    sample(metric.name, *number, more_labels);
  }
  // Keys that a daemon of another version does not have are left out.
  void add_all(const char* type, std::span<const Metric> metrics, const nlohmann::json& object) {
    for (const Metric& metric : metrics) add(type, metric, object.value(metric.key, nlohmann::json()));
  }
  // A sample for each object of the list, which has its name as a label.
  void add_each(const char* type, const Metric& metric, const char* label, const nlohmann::json& list) {
    if (list.empty()) return;
    begin(type, metric.name, metric.help);
    for (const nlohmann::json& one : list)
      sample(metric.name, value_of(one.at(metric.key)).value_or("0"), name_label(label, one));
  }
  void add_requests(const nlohmann::json& requests) {
    if (requests.empty()) return;
    const char* const name = "dedupfs_remote_requests_total";
    begin("counter", name, "Requests to the store of objects since the mount, each try.");
    for (const auto& [method, count] : requests.items())
      sample(name, value_of(count).value_or("0"), fmt::format(",method=\"{}\"", label_value(method)));
  }
  // A sample for each quota that has the value. Its label is the path of the directory if that is known, otherwise the inode.
  void add_each_quota(const Metric& metric, const nlohmann::json& quotas) {
    bool has_begun = false;
    for (const nlohmann::json& quota : quotas) {
      const auto number = value_of(quota.at(metric.key));
      if (!number) continue;
      if (!std::exchange(has_begun, true)) begin("gauge", metric.name, metric.help);
      const nlohmann::json& path = quota.at("path");
      const std::string directory =
          path.is_null() ? fmt::format("inode {}", quota.at("inode").get<std::uint64_t>()) : path.get<std::string>();
      sample(metric.name, *number, fmt::format(",directory=\"{}\"", label_value(directory)));
    }
  }
  void add_histogram(const nlohmann::json& operations, const nlohmann::json& bounds) {
    if (operations.empty()) return;
    begin("histogram", "dedupfs_operation_seconds",
          "Times of the operations of the mount, from the request of the kernel to the answer.");
    for (const nlohmann::json& one : operations) {
      const std::string name = name_label("operation", one);
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < one.at("buckets").size(); ++i) {
        count += one.at("buckets").at(i).get<std::uint64_t>();
        const std::string bound = i < bounds.size() ? bound_text(bounds.at(i).get<double>()) : "+Inf";
        sample("dedupfs_operation_seconds_bucket", fmt::format("{}", count), fmt::format("{},le=\"{}\"", name, bound));
      }
      sample("dedupfs_operation_seconds_sum", fmt::format("{}", one.at("seconds").get<double>()), name);
      sample("dedupfs_operation_seconds_count", fmt::format("{}", count), name);
    }
  }

  std::string take() {
    if (format_ == MetricsFormat::kOpenMetrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  static std::string name_label(const char* label, const nlohmann::json& object) {
    return fmt::format(",{}=\"{}\"", label, label_value(object.at("name").get<std::string>()));
  }
  // OpenMetrics wants a number with a fraction.
  static std::string bound_text(double seconds) {
    std::string text = fmt::format("{}", seconds);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }

  const MetricsFormat format_;
  const std::string labels_;
  std::string text_;
};

std::string settings_labels(const nlohmann::json& statistics) {
  std::string labels;
  for (const char* const key : {"uuid", "label", "chunker", "delta", "compression", "landing"})
    labels += fmt::format(",{}=\"{}\"", key, label_value(statistics.value(key, std::string())));
  return labels;
}

bool is_running(const nlohmann::json& statistics, const char* job) {
  const nlohmann::json& status = statistics.at(job);
  return !status.is_null() && status.at("running").get<bool>();
}

void add_performance(Text& text, const nlohmann::json& performance) {
  text.add_histogram(performance.at("operations"), performance.at("bucket_seconds"));
  for (const Metric& metric : kOfOperations)
    text.add_each("counter", metric, "operation", performance.at("operations"));
  for (const Metric& metric : kOfStages) text.add_each("counter", metric, "stage", performance.at("stages"));
  for (const Metric& metric : kOfWaits) text.add_each("counter", metric, "room", performance.at("waits"));
  for (const Metric& metric : kOfCaches) text.add_each("counter", metric, "cache", performance.at("caches"));
  for (const nlohmann::json& queue : performance.at("queues"))
    for (const Metric& metric : kQueues)
      if (queue.at("name") == metric.key) text.add("gauge", metric, queue.at("waiting"));
}

}  // namespace

std::string metrics_text(const nlohmann::json& statistics, const MetricsContext& context, MetricsFormat format) {
  Text text(context, format);
  text.add("gauge", {"dedupfs_info", "", "Settings of the volume, as labels."}, 1, settings_labels(statistics));
  text.add_all("gauge", kGauges, statistics);
  text.add_all("counter", kCounters, statistics);
  const nlohmann::json& scrub = statistics.at("scrub");
  if (!scrub.at("last").is_null()) text.add_all("gauge", kLastScrub, scrub.at("last"));
  text.add("gauge", {"dedupfs_scrub_running", "", "Whether a scrub runs."}, is_running(statistics, "scrub"));
  text.add("gauge", {"dedupfs_reclaim_running", "", "Whether a reclaim or settling runs."},
           is_running(statistics, "reclaim"));
  text.add("gauge", {"dedupfs_mounted", "", "Whether the volume is mounted."}, statistics.at("mounted"));
  if (context.read_only)
    text.add("gauge", {"dedupfs_read_only", "", "Whether the mount is read-only."}, *context.read_only);
  if (context.available_bytes)
    text.add("gauge", {"dedupfs_available_bytes", "", "Disk space for new data, as df shows it."},
             *context.available_bytes);
  if (const nlohmann::json remote = statistics.value("remote", nlohmann::json());
      !remote.is_null() && remote.at("role") != "copy") {
    text.add_all("gauge", kOfRemote, remote);
    text.add_all("counter", kCountersOfRemote, remote);
    text.add_requests(remote.value("requests", nlohmann::json::object()));
    text.add("gauge", {"dedupfs_remote_fenced", "", "Whether another machine writes to the bucket."},
             remote.at("role") == "fenced");
    text.add("gauge", {"dedupfs_remote_writers_refused", "", "Whether new data is refused until the bucket has more."},
             remote.at("writers_refused").get<bool>());
  }
  const nlohmann::json quotas = statistics.value("quotas", nlohmann::json::array());
  for (const Metric& metric : kOfQuotas) text.add_each_quota(metric, quotas);
  const nlohmann::json performance = statistics.value("performance", nlohmann::json());
  if (!performance.is_null()) add_performance(text, performance);
  return text.take();
}

}  // namespace dedupfs
