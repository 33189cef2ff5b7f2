// A fresh directory, removed with everything in it at the end of its scope. In the folder DEDUPFS_TEST_FOLDER, or where other temporary
// files are. On a tmpfs tests take a third of the time, since they sync much.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace dedupfs {

class TempDir {
 public:
  TempDir() {
    const char* const chosen = std::getenv("DEDUPFS_TEST_FOLDER");
    const std::filesystem::path folder = chosen ? chosen : std::filesystem::temp_directory_path();
    std::string name = (folder / "dedupfs-test-XXXXXX").string();
    DEDUPFS_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace dedupfs
