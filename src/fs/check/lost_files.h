// Finds the files that lost content, and their paths.
//
// Threads: free function; nobody may write to the index.
// Failure: damaged records are skipped: a file with a broken path is named by its inode number only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"
#include "index/database.h"
#include "store/check/check_report.h"

namespace dedupfs {

struct LostFile {
  InodeNumber inode = 0;
  std::vector<std::string> paths;  // all of its names, from the root of the volume on; sorted
  std::vector<LostRange> ranges;

  std::uint64_t lost_bytes() const;
};

// In order of inode number.
Result<std::vector<LostFile>> name_lost_files(const Database& index,
                                              const std::map<std::uint64_t, std::vector<LostRange>>& lost);

}  // namespace dedupfs
