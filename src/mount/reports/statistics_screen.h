// The statistics of a volume as dedupfs-stat shows them to people.
//
// Threads: free functions, safe from any thread.
// Failure: an object that statistics_json() did not make throws nlohmann::json exceptions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dedupfs {

enum class ScreenDetail {
  kShort,  // three lines for everybody, and where the disk space goes
  kFull,   // the three lines, and each step from the size of the files to the disk space
};

// `statistics` is the object of statistics_json(), with or without the key "nfs_export".
std::string statistics_screen(const nlohmann::json& statistics, ScreenDetail detail = ScreenDetail::kShort);

}  // namespace dedupfs
