// How statistics are shown: as JSON, and as a screen made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/background/reclaimer.h"
#include "fs/statistics/file_statistics.h"
#include "fs/statistics/statistics.h"
#include "store/check/scrubber.h"

namespace dedupfs {

// The documented JSON object of dedupfs-stat; `mounted`: a daemon has the volume, and `scrub` is its scrub. `reclaim` is
// absent on a read-only mount.
nlohmann::json statistics_json(const Statistics& statistics, const Superblock& superblock, const ScrubStatus& scrub,
                               const std::optional<ReclaimStatus>& reclaim, bool mounted);

// A line of /etc/exports for a mount. It has to name an fsid, since FUSE lets no filesystem choose its own (see dedupfs(8)).
std::string nfs_export_line(const Path& mountpoint, std::string_view uuid);

// The screen of dedupfs-stat, from that object.
std::string statistics_screen(const nlohmann::json& json);

// The documented JSON array of dedupfs-stat, without the paths: a file may have many names.
nlohmann::json file_statistics_json(const std::vector<FileStatistics>& files);

// The screen of dedupfs-stat, from that array with a "path" in each object.
std::string file_statistics_screen(const nlohmann::json& files);

}  // namespace dedupfs
