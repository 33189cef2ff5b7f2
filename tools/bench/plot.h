// Figures of the records as SVG, drawn by gnuplot.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/measure.h"

namespace dedupfs::bench {

struct Figure {
  std::string name;    // the name of its files without the ending: "throughput-vm-8k"
  std::string script;  // for gnuplot; writes NAME.svg into the current folder
};

// By Okabe and Ito: colour-blind readers can distinguish them. Lines beyond them use the same colours with dashes.
inline constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

struct Series {
  std::string name;
  std::string colour;
};

struct Bar {
  std::string group;   // under the axis
  std::string series;  // in the legend
  double value;
};

struct BarChart {
  std::string name, title, y_label;
  std::vector<Series> series;  // in the order of the legend
  std::vector<Bar> bars;
  std::string line_label;  // in the legend, for a dashed line at `line`
  std::optional<double> line;
};

// Clusters of bars. Each is centred on its name, also if some series are missing in it.
Figure figure_of(const BarChart& chart);

std::string size_name(std::uint32_t bytes);  // "8 KiB"

// For each input and average size: the throughput, the speed-up over scalar code and the distribution of chunk sizes. For each
// average size: the space savings on all inputs. `fixed` reads nothing and has no bar for speed. Figures without bars are left out.
std::vector<Figure> figures_of(std::span<const Record> records);

// Failure: kUnsupported, with the package to install, if gnuplot cannot be run.
Result<void> find_gnuplot();

// Writes NAME.svg and its script NAME.gp for each figure into the folder, which is created if it is missing.
Result<void> draw(std::span<const Figure> figures, const std::filesystem::path& folder);

}  // namespace dedupfs::bench
