// Folders of the operating system as tests open them.
#pragma once

#include <filesystem>
#include <memory>

#include "base/backing.h"

namespace dedupfs {

// The folder at a path, which is made where it is missing.
inline std::shared_ptr<BackingFolder> folder_at(const Path& path) {
  std::filesystem::create_directories(path);
  return Backing::posix()->open_root(path).value();
}

}  // namespace dedupfs
