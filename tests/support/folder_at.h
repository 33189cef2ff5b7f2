// Folders of the operating system as tests open them.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "base/backing.h"

namespace dedupfs {

// The folder at a path. It is made where it is missing, as dedupfs makes the folders of a volume: for its owner only.
inline std::shared_ptr<BackingFolder> folder_at(const Path& path) {
  std::filesystem::create_directories(path.parent_path());
  ::mkdir(path.c_str(), 0700);
  return Backing::posix()->open_root(path).value();
}

}  // namespace dedupfs
