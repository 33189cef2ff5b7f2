// An estimate from a sample, as text and as JSON: dedupfs-estimate --sample.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/estimate/sampling.h"

namespace dedupfs::tools {

// "5%" or "0.5%": the share, in (0, 1].
Result<double> parse_share(std::string_view text);

std::string sample_screen(const SampledEstimate& found);
// The keys of dedupfs-stat that a sample can tell, those of the sample, and its margins.
nlohmann::json sample_json(const SampledEstimate& found);

}  // namespace dedupfs::tools
