// The same files under several properties of a volume: the properties that dedupfs-estimate --compare tries, and which of them it
// advises.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "volume_settings.h"

namespace dedupfs::tools {

struct Candidate {
  std::string options;  // of mkfs.dedupfs, as a user would write them; empty: none
  VolumeSettingsArguments settings;
};

// The asked settings first, then these with other chunkers, other sizes, and without deltas.
std::vector<Candidate> candidates_of(const VolumeSettingsArguments& asked);

struct Outlay {
  std::uint64_t disk_bytes = 0;
  std::uint64_t chunks = 0;  // distinct ones: each costs memory of the index, and time when it is read
  double copy_seconds = 0;
};

struct Advice {
  std::size_t candidate = 0;
  std::string reason;
};
// Of outlays that are not empty, in the order of the candidates.
Advice advise(const std::vector<Candidate>& candidates, const std::vector<Outlay>& outlays);

}  // namespace dedupfs::tools
