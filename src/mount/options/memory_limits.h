// How much memory a daemon may take, from what there is: every cap that does not come from an option of the mount is decided here.
//
// Threads: free functions, safe from any thread.
// Failure: what cannot be read of the system is taken for absent; with nothing known the machine counts as one of 4 GiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace dedupfs {

// In bytes. docs/design.md, "Memory", has the table.
struct MemoryLimits {
  std::uint64_t cache = 0;            // of -o cache=
  std::uint64_t index = 0;            // of -o index_mem=
  std::uint64_t dirty = 0;            // of -o dirty=
  std::uint64_t waiting_regions = 0;  // compressed and written in the background
  std::uint64_t group =
      0;  // of metadata that is not committed; a commit starts here, operations wait at four times this
  std::size_t malloc_arenas = 0;
};

MemoryLimits memory_limits_for(std::uint64_t memory_bytes, std::size_t cpus);

// Of the machine, or of the cgroup that this process is in (version 1 and 2, and all that lie above it) if that has less. `root` is /.
std::uint64_t memory_of_machine(const std::filesystem::path& root = "/");

}  // namespace dedupfs
