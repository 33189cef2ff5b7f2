#include "volume_disk.h"

#include "replica/eviction/evicting_disk.h"

namespace dedupfs::tools {

std::shared_ptr<Backing> volume_disk(bool foreign) {
  if (foreign) return Backing::posix();
  static const std::shared_ptr<Backing> disk = std::make_shared<EvictingDisk>();
  return disk;
}

}  // namespace dedupfs::tools
