#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fs/format/local_time.h"
#include "report/html.h"

namespace dedupfs::tools {
namespace {

// The coordinates of the drawing, which is stretched.
constexpr double kWidth = 1000;
constexpr double kHeight = 200;
constexpr std::size_t kMostTips = 200;  // of a line

// The next round number in its unit, so that the scale is easy to read.
double round_up(double value, double thousand) {
  if (value <= 0) return 1;
  const double unit = std::pow(thousand, std::floor(std::log(value) / std::log(thousand)));
  const double power = unit * std::pow(10, std::floor(std::log10(value / unit)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (step * power >= value) return step * power;
  return 10 * power;
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    for (const LineChart::Line& line : chart.lines)
      for (const auto& [time, value] : line.points) {
        first_ = std::min(first_, time);
        last_ = std::max(last_, time);
        most_ = std::max(most_, value);
      }
    most_ = round_up(most_, chart.thousand);
  }

  std::string text() const {
    std::string svg;
    for (const double share : {0.0, 0.5, 1.0})
      svg += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"{0}\" y1=\"{1:.0f}\" y2=\"{1:.0f}\"/>\n", kWidth,
                         kHeight * share);
    for (const LineChart::Line& line : chart_.lines) svg += path_of(line);
    for (const LineChart::Line& line : chart_.lines) svg += tips_of(line);
    return fmt::format(
        "<div class=\"chart\">\n"
        "<div class=\"scale\"><span>{}</span><span>{}</span><span>{}</span></div>\n"
        "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n"
        "<div class=\"times\"><span>{}</span><span>{}</span></div>\n</div>\n",
        html(chart_.value_text(most_)), html(chart_.value_text(most_ / 2)), html(chart_.value_text(0)), kWidth, kHeight,
        html(chart_.title), svg, html(day_text(first_)), html(day_text(last_)));
  }

 private:
  static std::string day_text(std::int64_t time) { return minute_text(time).substr(0, 10); }

  double x_of(std::int64_t time) const {
    return kWidth * static_cast<double>(time - first_) / std::max(1.0, static_cast<double>(last_ - first_));
  }
  double y_of(double value) const { return kHeight - kHeight * value / most_; }

  std::string path_of(const LineChart::Line& line) const {
    if (line.points.empty()) return {};
    std::string path;
    for (const auto& [time, value] : line.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_of(time), y_of(value));
    std::string svg;
    if (line.is_filled)
      svg = fmt::format("<path class=\"area {}\" d=\"{}L{:.1f} {}L{:.1f} {}Z\"/>\n", line.css_class, path,
                        x_of(line.points.back().first), kHeight, x_of(line.points.front().first), kHeight);
    return svg + fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", line.css_class, path);
  }

  // A stripe of the drawing for each point, from the middle between it and the one before to the one behind.
  std::string tips_of(const LineChart::Line& line) const {
    std::string svg;
    const std::size_t step = line.points.size() / kMostTips + 1;
    double begin = line.points.empty() ? 0 : x_of(line.points.front().first);
    for (std::size_t i = 0; i < line.points.size(); i += step) {
      const auto& [time, value] = line.points[i];
      const double end = i + step < line.points.size() ? (x_of(time) + x_of(line.points[i + step].first)) / 2
                                                       : x_of(line.points.back().first);
      svg += fmt::format(
          "<rect class=\"tip\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\"><title>{}: {}, {}</title></rect>\n",
          begin, std::max(0.0, end - begin), kHeight, html(line.name), html(chart_.value_text(value)),
          html(minute_text(time)));
      begin = end;
    }
    return svg;
  }

  const LineChart& chart_;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  double most_ = 0;
};

std::string legend_of(const LineChart& chart) {
  if (chart.lines.size() < 2) return {};
  std::string items;
  for (const LineChart::Line& line : chart.lines)
    items += fmt::format("<span><i class=\"key {}\"></i>{}</span>", line.css_class, html(line.name));
  return fmt::format("<p class=\"legend\">{}</p>\n", items);
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  if (std::ranges::none_of(chart.lines, [](const LineChart::Line& line) { return line.points.size() > 1; })) return {};
  return legend_of(chart) + Drawing(chart).text();
}

}  // namespace dedupfs::tools
