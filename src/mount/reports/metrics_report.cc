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
    {"dedupfs_last_snapshot_timestamp_seconds", "last_snapshot_unix_seconds", "When the newest snapshot was made."},
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

// As the format has it: a backslash, a quote and the end of a line are escaped.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
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

class Text {
 public:
  explicit Text(const MetricsContext& context)
      : labels_(fmt::format("volume=\"{}\",mountpoint=\"{}\"", label_value(context.volume),
                            label_value(context.mountpoint))) {}

  void add(const char* type, const Metric& metric, const nlohmann::json& value, const std::string& more_labels = {}) {
    const auto number = value_of(value);
    if (!number) return;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0}{{{3}{4}}} {5}\n", metric.name, metric.help, type, labels_,
                         more_labels, *number);
  }
  // Keys that a daemon of another version does not have are left out.
  void add_all(const char* type, std::span<const Metric> metrics, const nlohmann::json& object) {
    for (const Metric& metric : metrics) add(type, metric, object.value(metric.key, nlohmann::json()));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string labels_;
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

}  // namespace

std::string metrics_text(const nlohmann::json& statistics, const MetricsContext& context) {
  Text text(context);
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
  return text.take();
}

}  // namespace dedupfs
