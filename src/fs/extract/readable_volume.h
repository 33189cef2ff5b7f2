// A volume that is only read, without a mount. Nothing in its folder is written. If its index cannot be read, a new one is made
// elsewhere, from the containers and the last checkpoint, as fsck.dedupfs would do it in the volume (docs/repair.md).
//
// Threads:   one user; the filesystem as it says.
// Ownership: owns the filesystem, the volume's lock, shared with other readers, and the folder of the new index, which goes with
//            it.
// Failure:   kBusy if the volume is mounted for writing: what is read while somebody writes would be of no one moment, and
//            reclaims would take chunks away. Others as Volume::open().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/backing.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "store/check/check_report.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct ReadableVolumeOptions {
  VolumeOptions volume;        // read_only and locked are seen to
  bool rebuild_index = false;  // even if the index can be opened
  Path scratch;                // a folder for the new index
  // Lines for people: that a new index is made and why, and what it lacks.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  Progress progress = no_progress;  // of a new index
};

class ReadableVolume {
 public:
  static Result<std::unique_ptr<ReadableVolume>> open(const Path& path, const ReadableVolumeOptions& options,
                                                      const std::shared_ptr<Backing>& backing = Backing::posix());
  ~ReadableVolume();
  ReadableVolume(const ReadableVolume&) = delete;
  ReadableVolume& operator=(const ReadableVolume&) = delete;

  Filesystem& filesystem() { return *filesystem_; }
  // How much a new index lacks: lines that were said. 0 if the volume's own index is read.
  std::uint64_t losses() const { return losses_; }

 private:
  ReadableVolume() = default;
  Result<void> open_filesystem(std::shared_ptr<BackingFolder> folder, const ReadableVolumeOptions& options);
  Result<void> rebuild_index(const ReadableVolumeOptions& options);
  Result<void> make_scratch(const Path& parent);

  std::shared_ptr<BackingFolder> real_folder_;
  std::shared_ptr<BackingFolder> folder_;  // the same, not to be changed
  std::shared_ptr<const void> lock_;
  std::shared_ptr<BackingFolder> scratch_parent_;
  std::string scratch_name_;  // empty: there is none
  std::shared_ptr<BackingFolder> scratch_;
  std::unique_ptr<Filesystem> filesystem_;
  std::uint64_t losses_ = 0;
};

}  // namespace dedupfs
