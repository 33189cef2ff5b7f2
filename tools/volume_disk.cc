#include "volume_disk.h"

#include "replica/eviction/evicting_disk.h"

namespace dedupfs::tools {

namespace {

const std::shared_ptr<EvictingDisk>& the_disk() {
  static const auto disk = std::make_shared<EvictingDisk>(Backing::posix(), open_bucket, kDefaultParallel);
  return disk;
}

}  // namespace

std::shared_ptr<Backing> volume_disk(bool foreign) {
  return foreign ? Backing::posix() : std::shared_ptr<Backing>(the_disk());
}

Result<void> check_volume_disk() {
  return the_disk()->check_fetches();
}

}  // namespace dedupfs::tools
