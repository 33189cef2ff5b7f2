// The scrubs of a volume as JSON, and as lines for people that are made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "fs/background/damaged_files.h"
#include "store/check/scrubber.h"

namespace dedupfs {

// The documented object "scrub" of dedupfs-stat. It has no names of files, since everybody may ask for it.
nlohmann::json scrub_json(const ScrubStatus& status);
// That of dedupfs-scrub, with the names of files.
nlohmann::json scrub_json(const ScrubStatus& status, const std::optional<DamagedFileNames>& files);

// Of both.
std::string scrub_screen(const nlohmann::json& json);

// ", at most 50.00 MiB/s", the limit of a job; empty for 0, no limit.
std::string rate_limit_text(std::uint64_t bytes_per_second);

}  // namespace dedupfs
