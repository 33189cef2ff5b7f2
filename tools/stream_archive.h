// A file that dedupfs-send has made, as a filesystem: it is received in a volume of its own in a scratch folder.
//
// Threads:   one user; the filesystem as it says.
// Ownership: the volume goes with it.
// Failure:   kUnsupported for a stream that builds on another snapshot; errors of the receiver, the file and the folder.
#pragma once

#include <memory>

#include "base/backing.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/receiver.h"

namespace dedupfs::tools {

class StreamArchive {
 public:
  // Whether the file begins as a stream does.
  static bool is_one(const Path& file);
  static Result<std::unique_ptr<StreamArchive>> open(const Path& file, const Path& scratch,
                                                     const transfer::WatchReceive& watch);
  ~StreamArchive();
  StreamArchive(const StreamArchive&) = delete;
  StreamArchive& operator=(const StreamArchive&) = delete;

  Filesystem& filesystem() { return *filesystem_; }

 private:
  StreamArchive() = default;

  Path folder_;
  std::unique_ptr<Filesystem> filesystem_;
};

}  // namespace dedupfs::tools
