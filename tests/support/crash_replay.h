// The states in which a power cut can leave a disk, from the log of what was done to it.
//
// What the model allows, of what was done after the last sync that covers it:
//   - each write of a file happened, or not, or in part: cut off or with blocks of 512 bytes or 4 KiB missing anywhere in it, or
//     with the file's new size but zeros in it; whatever the order of the calls was;
//   - the changes of a directory were cut off at any point of their order; files that were created in it, and whose name took
//     part in nothing else, can be missing beside;
//   - data and names are independent of each other.
// What a datasync or sync_directory had returned for is there. What a datasync failed for is lost.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/memory_disk.h"

namespace dedupfs {

class CrashReplay {
 public:
  // Of the events of a disk that began as `start`; they must outlive the replay.
  CrashReplay(DiskImage start, const std::vector<DiskEvent>& events);

  // Goes to the point before event `position`; 0 <= position <= events. Going back starts over.
  void go_to(std::size_t position);

  // A state at that point. 0: the process died, nothing is lost. 1: everything unsynced is lost. 2 and 3: that of the names
  // or that of the data. From 4 on: while there are at most 8 unsynced writes every subset of them, then mixtures at random.
  DiskImage state(std::uint64_t variation, std::uint64_t seed) const;

  // The variations from 0 on that are no mixtures.
  std::uint64_t exact_variations() const;

 private:
  struct Choice {
    std::uint64_t variation;
    std::mt19937_64 random;
    std::size_t writes_seen = 0;
  };

  void step();
  std::size_t unsynced_writes() const;
  void apply_names(DiskImage& image, Choice& choice) const;
  void apply_write(DiskImage& image, const DiskEvent& event, Choice& choice) const;

  const DiskImage start_;
  const std::vector<DiskEvent>& events_;
  std::size_t position_ = 0;
  DiskImage durable_;
  std::map<FileId, std::vector<const DiskEvent*>> unsynced_data_;
  std::map<std::string, std::vector<const DiskEvent*>> unsynced_names_;  // by directory
};

}  // namespace dedupfs
