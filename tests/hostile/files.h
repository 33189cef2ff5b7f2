// Files of a volume as the mutations see them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace dedupfs {

// Another mutation may have put a FIFO there, or a link outwards, behind which none may change anything.
inline bool is_plain(const std::filesystem::path& path, std::filesystem::file_type type) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == type;
}
inline bool is_plain_file(const std::filesystem::path& path) {
  return is_plain(path, std::filesystem::file_type::regular);
}
inline bool is_plain_folder(const std::filesystem::path& path) {
  return is_plain(path, std::filesystem::file_type::directory);
}

inline std::string content_of(const std::filesystem::path& file) {
  if (!is_plain_file(file)) return {};
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void overwrite(const std::filesystem::path& file, const std::string& content) {
  if (is_plain_file(file)) std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

// Plain files only.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!is_plain_folder(folder)) return files;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (is_plain_file(file.path()) && file.file_size() < (64 << 20)) files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace dedupfs
