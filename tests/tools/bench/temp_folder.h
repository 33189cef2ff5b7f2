// A temporary folder that tests put files into.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/temp_dir.h"

namespace dedupfs::bench {

class TempFolder : public TempDir {
 public:
  // Returns the path of the new file; makes the folders above it.
  std::string write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }
};

}  // namespace dedupfs::bench
