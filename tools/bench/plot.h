// Figures of the records, as SVG, drawn by gnuplot.
#pragma once

#include <filesystem>
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

// For each input and average size the throughput, the speed-up over scalar code and the distribution of chunk sizes; for each
// average size the space savings on all inputs. `fixed` has no bar for speed: it reads nothing. Figures without bars are left
// out.
std::vector<Figure> figures_of(std::span<const Record> records);

// kUnsupported, naming the package to install, if gnuplot cannot be run.
Result<void> find_gnuplot();

// Makes the folder if need be, and in it NAME.svg and NAME.gp, the script, of each figure.
Result<void> draw(std::span<const Figure> figures, const std::filesystem::path& folder);

}  // namespace dedupfs::bench
