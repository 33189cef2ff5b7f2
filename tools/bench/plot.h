// Figures of the records, as SVG, drawn by gnuplot.
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
  std::string name;    // of its files, without the ending: "throughput-vm-8k"
  std::string script;  // for gnuplot; writes NAME.svg into the current folder
};

// Of Okabe and Ito, told apart by colour-blind readers, too; lines take them again with dashes.
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
  std::string line_label;  // in the legend, of a dashed line at `line`, if there is one
  std::optional<double> line;
};

// Clusters of bars, each centred on its name though some lack a series.
Figure figure_of(const BarChart& chart);

std::string size_name(std::uint32_t bytes);  // "8 KiB"

// For each input and average size the throughput, the speed-up over scalar code and the distribution of chunk sizes; for each
// average size the space savings on all inputs. `fixed` has no bar for speed: it reads nothing. Figures without bars are left
// out.
std::vector<Figure> figures_of(std::span<const Record> records);

// kUnsupported, naming the package to install, if gnuplot cannot be run.
Result<void> find_gnuplot();

// Makes the folder if need be, and in it NAME.svg and NAME.gp, the script, of each figure.
Result<void> draw(std::span<const Figure> figures, const std::filesystem::path& folder);

}  // namespace dedupfs::bench
