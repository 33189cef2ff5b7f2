// A disk on which the containers of a volume may be evicted (evicted_containers.h). Whoever opens the volume sees all of them in their folder,
// as if they were whole, and took room here. Every program that opens a volume in a folder does it through this disk.
//
// Threads, ownership: as backing.h says.
// Failure: that of the disk below. A read of what is not on this machine is kBusy if the bucket does not give it now: it is no damage. A write to an evicted container
//          recalls it. It cannot be renamed: kUnsupported.
#pragma once

#include <memory>

#include "base/backing.h"
#include "replica/eviction/evicted_containers.h"
#include "replica/open_bucket.h"

namespace dedupfs {

class EvictingDisk final : public Backing {
 public:
  // `parallel`: requests that read ahead at once; 1: nothing is read ahead.
  explicit EvictingDisk(std::shared_ptr<Backing> disk = Backing::posix(), OpenBucket open_bucket = dedupfs::open_bucket,
                        std::size_t parallel = 1)
      : disk_(std::move(disk)), open_bucket_(std::move(open_bucket)), parallel_(parallel) {}

  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override;
  // Of all volumes that were opened through this disk.
  Result<void> check_fetches() const { return failure_->check(); }

 private:
  const std::shared_ptr<Backing> disk_;
  const OpenBucket open_bucket_;
  const std::size_t parallel_;
  const std::shared_ptr<FetchFailure> failure_ = std::make_shared<FetchFailure>();
};

// Of the folder of a volume as the disk has it (store/seal/sealed_folder.h, folder_on_disk()). Null: it lies on another disk.
std::shared_ptr<EvictedContainers> evicted_containers_of(const BackingFolder& volume);

}  // namespace dedupfs
