#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "bench/timed.h"

namespace dedupfs::bench {
namespace {

// About three significant digits.
std::string rate(double gb_per_s) {
  return gb_per_s < 10 ? fmt::format("{:.2f}", gb_per_s) : fmt::format("{:.1f}", gb_per_s);
}

std::string about_input(std::span<const Record> records) {
  const Record& first = records.front();
  std::vector<double> limits;
  for (const Record& record : records) limits.push_back(record.read_limit_gb_per_s());
  return fmt::format("{}: {} file{}, {:.2f} GB; {} thread{}; reading alone {} GB/s; median of {} pass{}\n", first.input,
                     first.files, first.files == 1 ? "" : "s", static_cast<double>(first.bytes) / 1e9, first.threads,
                     first.threads == 1 ? "" : "s", rate(median(limits)), first.repeat, first.repeat == 1 ? "" : "es");
}

}  // namespace

std::string align(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i < left ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string format_records(std::span<const Record> records) {
  if (records.empty()) return "";
  std::vector<std::string> heading = {"chunker",  "avg",    "isa",  "GB/s", "of limit",
                                      "x scalar", "chunks", "mean", "saved"};
  for (const int percent : kPercentiles) heading.push_back(fmt::format("p{}", percent));
  std::vector<std::vector<std::string>> rows = {heading};
  for (const Record& record : records) {
    std::vector<std::string> row = {record.label,
                                    format_size(record.avg_bytes),
                                    record.isa,
                                    rate(record.gb_per_s()),
                                    fmt::format("{:.0f} %", 100 * record.read_limit_fraction()),
                                    fmt::format("{:.2f}", record.speedup_over_scalar()),
                                    std::to_string(record.chunks.chunks),
                                    fmt::format("{:.0f}", record.chunks.mean_bytes),
                                    fmt::format("{:.2f} %", record.chunks.savings_percent)};
    for (const std::uint64_t bytes : record.chunks.percentiles) row.push_back(std::to_string(bytes));
    rows.push_back(std::move(row));
  }
  return about_input(records) + align(rows, 3);
}

nlohmann::json records_json(std::span<const Record> records) {
  const std::string cpu = cpu_model();
  auto objects = nlohmann::json::array();
  for (const Record& record : records) {
    auto percentiles = nlohmann::json::object();
    for (std::size_t i = 0; i < kPercentiles.size(); ++i)
      percentiles[std::to_string(kPercentiles[i])] = record.chunks.percentiles[i];
    objects.push_back({{"label", record.label},
                       {"algorithm", record.algorithm},
                       {"spec", record.spec},
                       {"isa", record.isa},
                       {"avg", record.avg_bytes},
                       {"threads", record.threads},
                       {"input", record.input},
                       {"files", record.files},
                       {"bytes", record.bytes},
                       {"repeat", record.repeat},
                       {"seconds", record.seconds},
                       {"seconds_min", record.seconds_min},
                       {"seconds_max", record.seconds_max},
                       {"gb_per_s", record.gb_per_s()},
                       {"read_limit_gb_per_s", record.read_limit_gb_per_s()},
                       {"read_limit_fraction", record.read_limit_fraction()},
                       {"speedup_over_scalar", record.speedup_over_scalar()},
                       {"chunks", record.chunks.chunks},
                       {"mean_chunk", record.chunks.mean_bytes},
                       {"percentiles", percentiles},
                       {"cdf", record.chunks.cdf},
                       {"savings_percent", record.chunks.savings_percent},
                       {"cpu", cpu}});
  }
  return {{"records", objects}};
}

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (key == "model name" || key == "cpu" || key == "Model") return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace dedupfs::bench
