// dedupfs-stat --history: how a volume has grown.
//
// Threads: a free function; one at a time on a console.
#pragma once

#include <string>

#include "console.h"
#include "terminal.h"
#include "volume_source.h"

namespace dedupfs::tools {

struct HistoryQuestion {
  enum class Form { kTable, kCsv, kPlot };  // without --json

  std::string path;   // a volume, or a folder in a mounted one
  std::string since;  // as parse_past_time() reads it; empty: from the beginning
  Form form = Form::kTable;
  VolumeAccess access;
};

// The exit code. The plot is as wide as the terminal.
int show_history(const HistoryQuestion& question, const Console& console, const Terminal& terminal);

}  // namespace dedupfs::tools
