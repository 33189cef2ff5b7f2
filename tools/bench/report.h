// Records as a table for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace dedupfs::bench {

// The records of one input: a line about the input, then a line for each record.
std::string format_records(std::span<const Record> records);

// The document of the records.
nlohmann::json records_json(std::span<const Record> records);

// A table with aligned columns. The first row is the heading. The first `left` columns are aligned left, the others right.
std::string align(const std::vector<std::vector<std::string>>& rows, std::size_t left);

// The name in /proc/cpuinfo, or "unknown".
std::string cpu_model();

}  // namespace dedupfs::bench
