#include "store/volume/outdated_files.h"

#include "store/format/format.h"
#include "store/seal/sealed_folder.h"

namespace dedupfs {

std::set<std::string> outdated_files(const Volume& volume) {
  std::set<std::string> paths = outdated_files(*volume.folder());
  std::erase_if(paths, [](const std::string& path) { return path.starts_with(kCheckpointsDirectory); });
  return paths;
}

}  // namespace dedupfs
