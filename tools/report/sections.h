// The sections of the page, as HTML. report_page() puts them together.
//
// Threads: free functions, safe from any thread.
// Failure: facts of another form throw nlohmann::json exceptions.
#pragma once

#include <optional>
#include <string>

#include "report/facts.h"

namespace dedupfs::tools {

// space_section.cc: each step from the size of the files to the disk space.
std::string space_section(const ReportFacts& facts);

// growth_section.cc
std::string growth_section(const ReportFacts& facts);
std::string restore_section(const ReportFacts& facts);
// "in 31 days"; none where it cannot be told.
std::optional<std::string> full_text(const ReportFacts& facts);

// holders_section.cc: what snapshots and folders hold, and what would come back without them.
std::string snapshots_section(const ReportFacts& facts);
std::string folders_section(const ReportFacts& facts);

// health_section.cc
struct Health {
  const char* css_class = "good";  // "warn", "bad"
  std::string text;
};
Health health_of(const ReportFacts& facts);
std::string health_section(const ReportFacts& facts);

}  // namespace dedupfs::tools
