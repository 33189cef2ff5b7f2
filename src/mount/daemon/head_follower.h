// Follows a volume that lies in a bucket and is written elsewhere: the mount shows a newer state as soon as it is found.
//
// The newer state is opened beside the older one, which serves requests meanwhile, so for a moment both take memory. Then requests wait until
// it has taken the place of the older one: open files and what the kernel knows of inodes go on by their numbers, which are never
// used again. A file that is gone gives ESTALE. The kernel forgets the contents that it has, and looks again at names and attributes after a second.
//
// Threads:   a thread of its own.
// Ownership: the mount, which outlives it, keeps the filesystem that it shows.
// Failure:   is logged once, until it succeeds again; the older state stays.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/periodic_thread.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "mount/fuse/fuse_mount.h"

namespace dedupfs {

class HeadFollower {
 public:
  struct Settings {
    std::chrono::milliseconds interval = std::chrono::minutes(1);
    std::function<Result<bool>()> renew;  // whether there is a newer state, which open() gives from then on
    std::function<Result<std::unique_ptr<Filesystem>>()> open;
  };

  // `first`: what the mount shows.
  HeadFollower(FuseMount& mount, std::unique_ptr<Filesystem> first, Settings settings);

 private:
  Result<void> follow();
  void note(const Result<void>& followed);

  FuseMount& mount_;
  const Settings settings_;
  bool is_behind_ = false;  // a newer state was found, and could not be opened yet
  std::optional<std::string> failure_;
  PeriodicThread thread_;
};

}  // namespace dedupfs
