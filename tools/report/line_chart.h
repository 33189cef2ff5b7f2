// A chart of values over time, as HTML with an SVG in it. The lines stretch with the page; the text does not, so that it can be read on
// a phone. A look at a point shows its value, without a script.
//
// Threads: a free function, safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dedupfs::tools {

struct LineChart {
  struct Line {
    std::string name;
    std::string css_class;                                // "one", "two" or "ahead": page_style.h
    std::vector<std::pair<std::int64_t, double>> points;  // time and value, in order of time; not negative
    bool is_filled = false;
  };

  std::string title;  // for those who do not see it
  std::vector<Line> lines;
  std::function<std::string(double)> value_text;
  double thousand = 1000;  // of the units of value_text(): 1024 for KiB
};

// Empty if no line has two points.
std::string line_chart(const LineChart& chart);

}  // namespace dedupfs::tools
