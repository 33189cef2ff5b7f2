// The reading half of ContainerStore: a bounded cache of descriptors, and regions read through it.
//
// Threads: every function from any thread; no lock is held during I/O.
// Failure: errors name the container file and the offset. A missing container is kCorruption: something referred to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/backing.h"
#include "base/raw_buffer.h"
#include "base/result.h"
#include "store/containers/container_info.h"
#include "store/containers/container_scan.h"
#include "store/format/container_format.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

class ContainerReader {
 public:
  ContainerReader(std::shared_ptr<BackingFolder> folder, UuidBytes volume);

  // See ContainerStore.
  Result<RegionHeader> read_header(RegionPlace place);
  Result<std::vector<RegionEntry>> read_directory(RegionPlace place);
  Result<std::shared_ptr<const Region>> read(RegionPlace place);
  void drop_cached(RegionPlace place, std::uint64_t disk_bytes);
  Result<std::vector<RegionEntry>> verify(RegionPlace place);
  Result<ContainerScan> scan(std::uint32_t number, const std::vector<std::uint32_t>& known_offsets,
                             const RegionVisit& visit);
  Result<ContainerWalk> walk(std::uint32_t number);
  // kNotFound if it has been removed.
  Result<ContainerInfo> inspect(std::uint32_t number);

  void forget(std::uint32_t number);  // it was removed
  // Shares the descriptor of a container that is being written.
  void share(std::uint32_t number, std::shared_ptr<const BackingFile> file);
  Path path_of(std::uint32_t number) const { return folder_->path() / container_name(number); }

 private:
  // The first bytes of a region, as many as one guess at its length brought in.
  struct Front {
    std::shared_ptr<const BackingFile> file;
    std::uint64_t place_offset = 0;
    RawBuffer bytes;
    RegionHeader header;

    Result<void> read_part(std::uint64_t offset, MutableByteSpan out) const;
    // A view of the front where the part lies in it, else of `storage`, which is filled.
    Result<ByteSpan> view_part(std::uint64_t offset, std::size_t length, RawBuffer& storage) const;
    Result<std::vector<RegionEntry>> directory() const;
    Result<RawBuffer> payload() const;
  };

  Error at(RegionPlace place, const Error& error) const;
  Result<Front> read_front(RegionPlace place, std::size_t guessed_bytes);
  Result<Region> read_region(RegionPlace place);
  // An error only for a whole header that names another container.
  Result<void> check_header(std::uint32_t number, const BackingFile& file) const;
  Result<std::shared_ptr<const BackingFile>> open(std::uint32_t number);

  const std::shared_ptr<BackingFolder> folder_;
  const UuidBytes volume_;

  using OpenFile = std::pair<std::uint32_t, std::shared_ptr<const BackingFile>>;
  std::mutex mutex_;
  std::list<OpenFile> open_files_;  // most recently used first
  std::unordered_map<std::uint32_t, std::list<OpenFile>::iterator> by_number_;
};

}  // namespace dedupfs
