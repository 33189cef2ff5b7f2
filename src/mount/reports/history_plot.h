// The history of a volume, drawn with characters for a terminal.
//
// Threads: a free function, safe from any thread.
#pragma once

#include <cstddef>
#include <string>

#include "mount/reports/history_report.h"

namespace dedupfs {

struct HistoryPlotStyle {
  std::size_t columns = 80;  // no line is longer, but that a plot has kMinColumns
  bool has_blocks = true;    // the terminal shows UTF-8
  static constexpr std::size_t kMinColumns = 40;
};

// The size on disk, and that of the files, over time. Between two samples, the volume is drawn as it was at the first.
std::string history_plot(const History& history, const HistoryPlotStyle& style);

}  // namespace dedupfs
