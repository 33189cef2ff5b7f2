// Records as a table for people and as JSON for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace dedupfs::bench {

// Of one input: a line about it, then a line for each record.
std::string format_records(std::span<const Record> records);

// An array, a record a line.
std::string records_json(std::span<const Record> records);

// Cells in columns that are as wide as they need be; the first row is the heading. The first `left` columns begin at the
// left, the others end at the right.
std::string align(const std::vector<std::vector<std::string>>& rows, std::size_t left);

// As /proc/cpuinfo names it; "unknown" where it does not.
std::string cpu_model();

}  // namespace dedupfs::bench
