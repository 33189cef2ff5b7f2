// The statistics of a volume and of single files as JSON, and those of files as lines for people. The lines for a volume are made
// in statistics_screen.h.
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

// The documented JSON object of dedupfs-stat. `mounted`: a daemon serves the volume, and `scrub` is the state of its scrub.
// `reclaim` is empty where no reclaim can run: without a daemon, and in a read-only one. The keys "performance" and "quotas" are null: who has the
// readings of a daemon sets it (performance_report.h). So are "encryption",
// "remote" and "kernel": who has the volume, ships it, or serves the kernel, sets them.
nlohmann::json statistics_json(const Statistics& statistics, const Superblock& superblock, const ScrubStatus& scrub,
                               const std::optional<ReclaimStatus>& reclaim, bool mounted);

// What "encryption" says of the folder of an open volume: null if it is not encrypted.
nlohmann::json encryption_json(const BackingFolder& volume);

// A line of /etc/exports for a mount. It names an fsid, since a FUSE filesystem cannot choose its own (see dedupfs(8)).
std::string nfs_export_line(const Path& mountpoint, std::string_view uuid);

// The documented JSON array of dedupfs-stat --file, without the paths: a file has many names, or none that the volume knows.
nlohmann::json file_statistics_json(const std::vector<FileStatistics>& files);

// The lines of dedupfs-stat --file, from that array with a "path" in each object.
std::string file_statistics_screen(const nlohmann::json& files);

}  // namespace dedupfs
