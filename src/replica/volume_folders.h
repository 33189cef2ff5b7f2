// The folders of a volume, by the paths that its files have in a replica: "superblock", "containers/7.container".
//
// Threads:   one at a time.
// Ownership: refers to the volume's folder, and owns those below it.
// Failure:   kNotFound for a file that is not there, and for a folder if it is not to be made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

class VolumeFolders {
 public:
  enum class Mode { kOpen, kOpenOrMake };

  VolumeFolders(BackingFolder& volume, Mode mode) : volume_(volume), mode_(mode) {}

  // The folder that has the file. It lives as long as this object.
  Result<BackingFolder*> holder_of(std::string_view path);
  Result<std::unique_ptr<BackingFile>> open(std::string_view path, Backing::Mode mode);
  // The folder of that name, below the volume's.
  Result<BackingFolder*> get(std::string_view name);
  // Makes durable what was made in all of them.
  Result<void> sync();

 private:
  BackingFolder& volume_;
  const Mode mode_;
  std::map<std::string, std::shared_ptr<BackingFolder>, std::less<>> below_;
};

// The name that a file has in its folder.
std::string_view name_in_folder(std::string_view path);

}  // namespace dedupfs
