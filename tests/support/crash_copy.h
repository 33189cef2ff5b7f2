// A copy of a folder as a crash at this moment would leave it. RocksDB removes files in the background: a copy during which
// the folder changed is no moment's state, and is made again.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace dedupfs {

inline std::map<std::string, std::uintmax_t> sizes_below(const std::filesystem::path& folder) {
  std::map<std::string, std::uintmax_t> sizes;
  std::error_code gone;
  for (std::filesystem::recursive_directory_iterator file(folder, gone), end; file != end; file.increment(gone))
    sizes[file->path().string()] = file->is_regular_file(gone) ? file->file_size(gone) : 0;
  return sizes;
}

inline void crash_copy(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (;;) {
    std::error_code gone;
    const auto before = sizes_below(from);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, gone);
    if (!gone && sizes_below(from) == before) return;
    std::filesystem::remove_all(to);
  }
}

}  // namespace dedupfs
