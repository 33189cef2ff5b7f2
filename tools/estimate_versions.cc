#include "estimate_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/size.h"

namespace dedupfs::tools {
namespace {

// The disk may shrink a little where tables of the index are merged.
std::uint64_t growth(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

}  // namespace

std::vector<VersionStep> version_steps(const std::vector<std::string>& paths, const std::vector<Statistics>& after) {
  std::vector<VersionStep> steps;
  Statistics before;
  for (std::size_t i = 0; i < std::min(paths.size(), after.size()); ++i) {
    const Statistics& now = after[i];
    steps.push_back({.path = paths[i],
                     .logical_bytes = growth(before.logical_bytes, now.logical_bytes),
                     .added_bytes = growth(before.disk_bytes, now.disk_bytes),
                     .disk_bytes = now.disk_bytes,
                     .total_ratio = now.total_ratio()});
    before = now;
  }
  return steps;
}

std::optional<VersionForecast> forecast_of(const std::vector<VersionStep>& steps) {
  if (steps.size() < 2) return std::nullopt;
  VersionForecast found{.versions = steps.size() / 2, .least_bytes = UINT64_MAX};
  std::uint64_t sum = 0;
  for (auto step = steps.end() - static_cast<std::ptrdiff_t>(found.versions); step != steps.end(); ++step) {
    sum += step->added_bytes;
    found.least_bytes = std::min(found.least_bytes, step->added_bytes);
    found.most_bytes = std::max(found.most_bytes, step->added_bytes);
  }
  found.mean_bytes = sum / found.versions;
  return found;
}

std::string versions_screen(const std::vector<VersionStep>& steps) {
  constexpr std::string_view kRow = "{:>11}{:>12}{:>12}{:>9}  {}\n";
  std::string screen = fmt::format(kRow, "Data", "Adds", "Disk", "Total", "Version");
  for (const VersionStep& step : steps)
    screen += fmt::format(kRow, human_size(step.logical_bytes), human_size(step.added_bytes),
                          human_size(step.disk_bytes), fmt::format("{:.2f}", step.total_ratio), step.path);
  if (const auto forecast = forecast_of(steps); forecast && forecast->versions == 1)
    screen +=
        fmt::format("\nA further version would add about {}, as the last one.\n", human_size(forecast->mean_bytes));
  else if (forecast)
    screen += fmt::format("\nA further version would add about {}: the last {} added {} to {}.\n",
                          human_size(forecast->mean_bytes), forecast->versions, human_size(forecast->least_bytes),
                          human_size(forecast->most_bytes));
  return screen;
}

nlohmann::json versions_json(const std::vector<VersionStep>& steps) {
  nlohmann::json rows = nlohmann::json::array();
  for (const VersionStep& step : steps)
    rows.push_back({{"path", step.path},
                    {"logical_bytes", step.logical_bytes},
                    {"added_bytes", step.added_bytes},
                    {"disk_bytes", step.disk_bytes},
                    {"total_ratio", step.total_ratio}});
  return rows;
}

nlohmann::json forecast_json(const std::vector<VersionStep>& steps) {
  const auto forecast = forecast_of(steps);
  if (!forecast) return nullptr;
  return {{"added_bytes", forecast->mean_bytes},
          {"low", forecast->least_bytes},
          {"high", forecast->most_bytes},
          {"versions", forecast->versions}};
}

}  // namespace dedupfs::tools
