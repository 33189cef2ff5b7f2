#include "mount/reports/history_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/size.h"
#include "fs/format/local_time.h"

namespace dedupfs {
namespace {

constexpr std::size_t kLabelColumns = 12;  // "1023.99 GiB" and a blank
constexpr std::size_t kLevels = 8;         // of a character
constexpr std::array<std::string_view, kLevels + 1> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

using Points = std::vector<std::pair<std::int64_t, std::uint64_t>>;  // time and value, in order of time

class CharacterPlot {
 public:
  explicit CharacterPlot(const HistoryPlotStyle& style)
      : style_(style), width_(std::max(style.columns, HistoryPlotStyle::kMinColumns) - kLabelColumns) {}

  std::string drawn(std::string_view title, const Points& points, std::size_t rows) const {
    if (points.empty()) return {};
    std::uint64_t most = 1;
    for (const auto& [time, value] : points) most = std::max(most, value);
    const std::vector<std::size_t> heights = heights_of(points, most, rows * kLevels);
    std::string plot = fmt::format("{}\n", title);
    for (std::size_t row = rows; row-- > 0;) {
      const bool has_label = row + 1 == rows || row == 0;
      plot += fmt::format("{:>{}} ", has_label ? human_size(row == 0 ? 0 : most) : "", kLabelColumns - 1);
      std::string line;
      for (const std::size_t height : heights)
        line += character(std::min(kLevels, height - std::min(height, row * kLevels)));
      plot += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return plot + time_axis(points);
  }

 private:
  // For each column the value at its end; 0 before the first.
  std::vector<std::size_t> heights_of(const Points& points, std::uint64_t most, std::size_t levels) const {
    const std::int64_t begin = points.front().first;
    const double span = std::max(1.0, static_cast<double>(points.back().first - begin));
    std::vector<std::size_t> heights;
    auto next = points.begin();
    for (std::size_t column = 1; column <= width_; ++column) {
      const double end = span * static_cast<double>(column) / static_cast<double>(width_);
      while (std::next(next) != points.end() && static_cast<double>(std::next(next)->first - begin) <= end) ++next;
      const double share = static_cast<double>(next->second) / static_cast<double>(most);
      heights.push_back(static_cast<std::size_t>(std::lround(share * static_cast<double>(levels))));
    }
    return heights;
  }

  std::string_view character(std::size_t level) const {
    if (style_.has_blocks) return kBlocks[level];
    return level >= kLevels / 2 ? "#" : " ";
  }

  std::string time_axis(const Points& points) const {
    const std::string first = minute_text(points.front().first);
    const std::string last = points.size() == 1 ? "" : minute_text(points.back().first);
    const bool has_room = first.size() + last.size() < width_;
    return fmt::format("{:{}}{}{:>{}}\n", "", kLabelColumns, has_room ? first : "", last,
                       width_ - (has_room ? first.size() : 0));
  }

  const HistoryPlotStyle style_;
  const std::size_t width_;
};

}  // namespace

std::string history_plot(const History& history, const HistoryPlotStyle& style) {
  constexpr std::size_t kRowsOfDisk = 12;
  constexpr std::size_t kRowsOfFiles = 6;
  Points on_disk, logical;
  for (const HistorySample& sample : history) {
    on_disk.emplace_back(sample.unix_seconds, sample.disk_bytes);
    if (sample.counts) logical.emplace_back(sample.unix_seconds, sample.counts->logical);
  }
  if (on_disk.size() < 2) return history_screen(history);  // nothing to draw yet
  const CharacterPlot plot(style);
  return plot.drawn("On disk", on_disk, kRowsOfDisk) + '\n' + plot.drawn("Size of the files", logical, kRowsOfFiles);
}

}  // namespace dedupfs
