// The reading half of ContainerStore: regions, walks and scans, from any container backend.
//
// A region is one read of the backend if the caller knows its length. The length comes from the index, so it is a hint: no more is
// allocated than the longest region takes, and the header of the region decides.
//
// Ownership: the backend must outlive it.
// Threads: every function from any thread; no lock is held during I/O.
// Failure: errors name the container and the offset. A missing container is kCorruption: something referred to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "base/raw_buffer.h"
#include "base/result.h"
#include "store/containers/container_backend.h"
#include "store/containers/container_info.h"
#include "store/containers/container_scan.h"
#include "store/format/container_format.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

class ContainerReader {
 public:
  ContainerReader(ContainerBackend& backend, UuidBytes volume) : backend_(backend), volume_(volume) {}

  // See ContainerStore.
  Result<RegionHeader> read_header(RegionPlace place);
  Result<std::vector<RegionEntry>> read_directory(RegionPlace place);
  Result<std::shared_ptr<const Region>> read(RegionRange range);
  Result<std::vector<RegionEntry>> verify(RegionRange range);
  Result<ContainerScan> scan(std::uint32_t number, const std::vector<std::uint32_t>& known_offsets,
                             const RegionVisit& visit);
  Result<ContainerWalk> walk(std::uint32_t number);
  // kNotFound if it has been removed.
  Result<ContainerInfo> inspect(std::uint32_t number);

 private:
  // The first bytes of a region, as many as one guess at its length brought in.
  struct Front {
    RegionPlace place;
    RawBuffer bytes;
    RegionHeader header;

    std::uint64_t payload_begin() const { return kRegionHeaderBytes + std::uint64_t{header.directory_length}; }
    // All of the region, in a buffer that is no longer.
    bool is_the_region() const {
      return bytes.size() == header.disk_length() && bytes.capacity() == header.disk_length();
    }
  };

  Error at(RegionPlace place, const Error& error) const;
  Result<Front> read_front(RegionPlace place, std::size_t guessed_bytes);
  Result<void> read_part(const Front& front, std::uint64_t offset, MutableByteSpan out);
  // A view of the front where the part lies in it, else of `storage`, which is filled.
  Result<ByteSpan> view_part(const Front& front, std::uint64_t offset, std::size_t length, RawBuffer& storage);
  Result<std::vector<RegionEntry>> directory_of(const Front& front);
  Result<Region> read_region(RegionRange range);
  // An error only for a whole header that names another container.
  Result<void> check_header(std::uint32_t number);

  ContainerBackend& backend_;
  const UuidBytes volume_;

  Mutex mutex_;
  std::unordered_set<std::uint32_t> checked_ DEDUPFS_GUARDED_BY(mutex_);  // containers whose header was looked at
};

}  // namespace dedupfs
