// The statistics of a volume as metrics of Prometheus.
//
// Threads: free functions, safe from any thread.
// Failure: a nlohmann::json::exception for statistics of another form (read_answer() makes an Error of it).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace dedupfs {

// What the statistics of a volume do not say.
struct MetricsContext {
  std::string volume;                            // labels of all metrics
  std::string mountpoint;                        // empty: not mounted
  std::optional<bool> read_only;                 // of the mount
  std::optional<std::uint64_t> available_bytes;  // for new data
};

enum class MetricsFormat {
  kPrometheus,   // text exposition format 0.0.4, for the textfile collector of node_exporter
  kOpenMetrics,  // OpenMetrics 1.0
};

// `statistics`: the object of dedupfs-stat --json. A metric whose value is not known is left out.
std::string metrics_text(const nlohmann::json& statistics, const MetricsContext& context,
                         MetricsFormat format = MetricsFormat::kPrometheus);

}  // namespace dedupfs
