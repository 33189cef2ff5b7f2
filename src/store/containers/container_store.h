// The containers of a volume: append-only, immutable once sealed. See docs/format.md, "Container". New regions go to the open
// container of their tier, a file that this class writes. All else it asks of a ContainerBackend.
//
// Ownership: owns the files that it writes, and the backend.
// Threads:   every function from any thread; appends are placed under a lock and written outside of it.
// Failure:   an append that failed leaves a gap that nothing refers to. A failed sync() is final: the bytes must not be
//            taken for durable by a retry, so every later append and sync fails with the first error. A container whose
//            header names another volume or number is never read from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "store/containers/container_info.h"
#include "store/containers/container_scan.h"
#include "store/format/region.h"
#include "store/format/superblock.h"
#include "store/format/types.h"

namespace dedupfs {

class ContainerStore {
 public:
  struct Settings {
    std::string volume_uuid;
    std::uint32_t container_bytes = Superblock().container_bytes;
    std::uint32_t next_container = 1;  // numbers below were used, even where no file is left to show it
    std::uint32_t first_landed = 1;    // no container with a lower number is to be settled
    bool read_only = false;
  };

  // `folder` is VOLUME/containers. Never continues a container of an earlier run: new regions go to a new one, with
  // a number above all that exist and at least `next_container`.
  static Result<std::unique_ptr<ContainerStore>> open(std::shared_ptr<BackingFolder> folder, Settings settings);
  ~ContainerStore();  // seals open containers, as far as possible

  // Writes what encode_region() returned; it is durable after the next sync().
  Result<RegionPlace> append(ByteSpan encoded_region, ContainerTier tier = ContainerTier::kSettled);

  // Everything appended before the call is durable after it, and so is the directory entry of each new container.
  Result<void> sync();

  // Starts new containers. Later appends go to containers of this number and above.
  std::uint32_t begin_new_container();
  // Nothing refers to it any more, and nothing is being appended to it. Readers that have it open finish.
  Result<void> remove(std::uint32_t container);
  // As long as what it returns lives, the files of containers stay. remove() hides them, and the last one who keeps them removes them.
  // A crash before that leaves garbage. It must not outlive the store.
  std::shared_ptr<const void> keep_files();

  Result<RegionHeader> read_header(RegionPlace place) const;
  Result<std::vector<RegionEntry>> read_directory(RegionPlace place) const;  // header and directory only, verified
  // The whole region, verified and decompressed, entries sorted by id. The error names container and offset. One read if the
  // length in `range` is right; a wrong one costs another read.
  Result<std::shared_ptr<const Region>> read(RegionRange range) const;

  // The same, from the disk if it lies in the memory of the operating system.
  Result<std::shared_ptr<const Region>> read_from_disk(RegionRange range) const;

  // Whether reading it needs nothing but this machine. A hint.
  bool is_near(RegionRange range) const;
  // When a container was written to last (ContainerBackend::modified()).
  Result<std::int64_t> modified(std::uint32_t container) const;

  // Checksums of header, directory and payload, without decompressing anything; gives the entries, in order of payload.
  Result<std::vector<RegionEntry>> verify(RegionRange range) const;

  // The place right behind the region at `place`, if the container holds one there.
  static RegionPlace place_after(RegionPlace place, const RegionHeader& header);

  // The bytes of all containers that are to be settled, and are on this machine. Reads the headers of containers from first_landed() on that it does not
  // know yet, and of those that are to be settled.
  Result<std::uint64_t> landed_bytes() const;
  // As far as landed_bytes() has found out: for the next time that the volume is opened.
  std::uint32_t first_landed() const;
  // All containers in order of number. Files with other names are ignored.
  Result<std::vector<ContainerInfo>> list() const;
  // The numbers of existing containers, ascending, from this number on.
  Result<std::vector<std::uint32_t>> numbers_from(std::uint32_t first) const;
  std::uint32_t container_bytes() const;  // a container that is as long is sealed
  // The number that the next new container will get.
  std::uint32_t next_container() const;
  // Those that are still written to, in front of their end, too: several threads write at once.
  std::vector<std::uint32_t> unfinished() const;

  // Walks the regions of a container front to back until its trailer, its end, or the first thing that is no region.
  // Only headers are read.
  Result<ContainerWalk> walk(std::uint32_t container) const;
  // As walk(), but past damage; see scan_container().
  Result<ContainerScan> scan(std::uint32_t container, const std::vector<std::uint32_t>& known_offsets,
                             const RegionVisit& visit) const;

 private:
  struct State;
  explicit ContainerStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dedupfs
