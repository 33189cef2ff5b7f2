// The page of dedupfs-report: where the space of a volume goes, how it grows, who holds it, how fast it can be read, how healthy it is.
//
// It is one HTML file. It loads nothing: no script, no font, no picture (its Content-Security-Policy forbids it). All names in it are
// hostile.
//
// Threads: a free function, safe from any thread.
// Failure: facts of another form throw nlohmann::json exceptions.
#pragma once

#include <string>

#include "report/facts.h"

namespace dedupfs::tools {

std::string report_page(const ReportFacts& facts);

}  // namespace dedupfs::tools
