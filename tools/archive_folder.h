// The folder of an archive in a mounted volume, and the one in which it is restored before it gets its name.
//
// A mark, an extended attribute of the folder, says which archive it holds, and which snapshot was made of it. It is there before the folder has its name. So a folder
// with a name and a mark is whole, whatever crashed.
//
// Threads: one user.
// Failure: errors of the system, with the path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "file_lock.h"

namespace dedupfs::tools {

class ArchiveFolders {
 public:
  // kBusy if another import has this folder.
  static Result<ArchiveFolders> open(const Path& folder);

  Path path_of(const std::string& name) const { return folder_ / name; }
  struct Mark {
    std::string id;        // of the archive; empty: the folder is none of ours
    std::string snapshot;  // empty: none was made
  };
  // Of what is there under this name; none if nothing is.
  Result<std::optional<Mark>> mark_at(const std::string& name) const;
  Result<void> note_snapshot(const std::string& name, const Mark& mark) const;

  // An empty folder for an archive that is to come; what was left of an earlier one goes.
  Result<Path> stage() const;
  Result<void> remove_stage() const;
  // It becomes the folder of the archive, with the time of the archive.
  Result<void> finish(const std::string& name, const std::string& id, std::int64_t unix_seconds) const;

 private:
  ArchiveFolders(Path folder, FileLock lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  Path stage_path() const;

  Path folder_;
  FileLock lock_;
};

}  // namespace dedupfs::tools
