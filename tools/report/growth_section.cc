#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/size.h"
#include "fs/format/local_time.h"
#include "fs/history/sampling.h"
#include "mount/reports/growth.h"
#include "report/html.h"
#include "report/line_chart.h"
#include "report/sections.h"
#include "report/table.h"
#include "store/relocation/restore_estimate.h"

namespace dedupfs::tools {
namespace {

constexpr std::size_t kRowsOfTable = 60;

std::string bytes_text(double bytes) {
  return human_size(static_cast<std::uint64_t>(std::clamp(bytes, 0.0, 1e19)));
}
std::string speed_text(double bytes_per_second) {
  return fmt::format("{:.0f} MB/s", bytes_per_second / 1e6);
}

// The values of those samples that have one.
template <class Value>
std::vector<std::pair<std::int64_t, double>> points_of(const History& history, const Value& value_of) {
  std::vector<std::pair<std::int64_t, double>> points;
  for (const HistorySample& sample : history)
    if (const std::optional<std::uint64_t> value = value_of(sample))
      points.emplace_back(sample.unix_seconds, static_cast<double>(*value));
  return points;
}

// From now on for half as long as the history is, and not beyond a full disk.
std::optional<LineChart::Line> forecast(const ReportFacts& facts) {
  const auto growth = growth_of(facts.history);
  if (!growth || growth->bytes_per_day <= 0) return std::nullopt;
  const HistorySample& last = facts.history.back();
  double days = static_cast<double>(last.unix_seconds - facts.history.front().unix_seconds) / kSecondsOfADay / 2;
  if (facts.available_bytes) days = std::min(days, static_cast<double>(*facts.available_bytes) / growth->bytes_per_day);
  const auto end = last.unix_seconds + static_cast<std::int64_t>(days * kSecondsOfADay);
  const auto begin_bytes = static_cast<double>(last.disk_bytes);
  return LineChart::Line{
      .name = "forecast",
      .css_class = "ahead",
      .points = {{last.unix_seconds, begin_bytes}, {end, begin_bytes + days * growth->bytes_per_day}}};
}

std::string growth_sentence(const ReportFacts& facts) {
  const auto growth = growth_of(facts.history);
  if (!growth) return "A forecast needs samples of three days.";
  const auto full = full_text(facts);
  return growth_text(*growth) + (full ? " The disk is full " + *full + ", if that goes on." : "");
}

std::string table_of_samples(const History& history) {
  HtmlTable table({{"Time"}, {"Files", true}, {"Size of the files"}, {"Unique", true}, {"Garbage", true}, {"On disk"}});
  for (const HistorySample& sample : thinned(history, kRowsOfTable)) {
    const auto& counts = sample.counts;
    const auto bytes = [&](std::uint64_t HistorySample::Counts::*count) {
      return counts ? human_size((*counts).*count) : std::string("–");
    };
    table.add({html(minute_text(sample.unix_seconds)), counts ? fmt::format("{}", counts->files) : "–",
               bytes(&HistorySample::Counts::logical), bytes(&HistorySample::Counts::unique),
               bytes(&HistorySample::Counts::garbage), human_size(sample.disk_bytes)});
  }
  return folded("The samples as a table", table.text());
}

}  // namespace

std::optional<std::string> full_text(const ReportFacts& facts) {
  const auto growth = growth_of(facts.history);
  if (!growth || !facts.available_bytes) return std::nullopt;
  const auto days = days_until_full(*growth, *facts.available_bytes);
  if (!days) return std::nullopt;
  if (*days < 1) return "in less than a day";
  if (*days < 730) return fmt::format("in {:.0f} day{}", std::floor(*days), *days < 2 ? "" : "s");
  return fmt::format("in {:.0f} years", std::floor(*days / 365.25));
}

std::string growth_section(const ReportFacts& facts) {
  const History& history = facts.history;
  LineChart on_disk{.title = "Size on disk over time", .lines = {}, .value_text = bytes_text, .thousand = 1024};
  on_disk.lines.push_back(
      {.name = "on disk",
       .css_class = "one",
       .points = points_of(history, [](const auto& sample) { return std::optional(sample.disk_bytes); }),
       .is_filled = true});
  if (auto ahead = forecast(facts)) on_disk.lines.push_back(std::move(*ahead));
  LineChart files{.title = "Size of the files over time", .lines = {}, .value_text = bytes_text, .thousand = 1024};
  files.lines.push_back(
      {.name = "size of the files", .css_class = "two", .points = points_of(history, [](const auto& sample) {
                                                          return sample.counts ? std::optional(sample.counts->logical)
                                                                               : std::nullopt;
                                                        })});
  const std::string disk_chart = line_chart(on_disk);
  if (disk_chart.empty())
    return "<section>\n<h2>Growth</h2>\n<p>There is no history yet: a mounted volume takes a sample each hour in which "
           "it "
           "changes.</p>\n</section>\n";
  const std::string files_chart = line_chart(files);
  return fmt::format("<section>\n<h2>Growth</h2>\n<p>{}</p>\n<h3>On disk</h3>\n{}{}{}{}</section>\n",
                     html(growth_sentence(facts)), disk_chart,
                     files_chart.empty() ? "" : "<h3>Size of the files</h3>\n", files_chart, table_of_samples(history));
}

std::string restore_section(const ReportFacts& facts) {
  const auto speeds = [&](std::uint64_t HistorySample::RestoreSpeed::*disk) {
    return points_of(facts.history, [disk](const auto& sample) {
      return sample.restore ? std::optional((*sample.restore).*disk) : std::nullopt;
    });
  };
  LineChart chart{.title = "Speed of reading the newest files over time", .lines = {}, .value_text = speed_text};
  chart.lines.push_back(
      {.name = "from an SSD", .css_class = "two", .points = speeds(&HistorySample::RestoreSpeed::ssd)});
  chart.lines.push_back(
      {.name = "from a hard disk", .css_class = "one", .points = speeds(&HistorySample::RestoreSpeed::hard_disk)});
  const std::string drawn = line_chart(chart);
  if (drawn.empty()) return {};
  const auto [last_time, last_speed] = chart.lines.back().points.back();
  const auto jump = [](const DiskModel& disk) { return fmt::format("{:g} ms", 1000 * disk.seek_seconds); };
  return fmt::format(
      "<section>\n<h2>Fragmentation and restore speed</h2>\n<p>The newest files can be read at about {} from a hard "
      "disk. Each point is a generation: what was newest then, up to {} GiB. The line falls as newer generations refer "
      "to chunks in more places.</p>\n{}<p class=\"quiet\">A model, so that it does not depend on this machine and its "
      "caches: {} for a jump of a hard disk and {}, {} and {} for an SSD.</p>\n</section>\n",
      html(speed_text(last_speed)), kNewestBytes >> 30, drawn, jump(kHardDisk), speed_text(kHardDisk.bytes_per_second),
      jump(kSsd), speed_text(kSsd.bytes_per_second));
}

}  // namespace dedupfs::tools
