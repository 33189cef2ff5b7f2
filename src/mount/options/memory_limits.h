// The memory limits of a daemon, from the memory of the machine. Every cap without a mount option is decided here.
//
// Threads: free functions, safe from any thread.
// Failure: unreadable files of the system count as absent. Without any information the machine counts as one with 4 GiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace dedupfs {

// In bytes. docs/memory.md has the table.
struct MemoryLimits {
  std::uint64_t cache = 0;            // of -o cache=
  std::uint64_t index = 0;            // of -o index_mem=
  std::uint64_t dirty = 0;            // of -o dirty=
  std::uint64_t waiting_regions = 0;  // compressed and written in the background
  std::uint64_t shipping = 0;         // pieces of files on their way to a bucket
  std::uint64_t group =
      0;  // uncommitted metadata; a commit starts at this size, operations wait at four times this size
  std::size_t malloc_arenas = 0;
  std::size_t malloc_mmap_threshold =
      0;                      // blocks from this size on go back to the system at once; 0: as malloc decides
  unsigned fuse_threads = 0;  // each has a buffer of 1 MiB for its request, and may have a reply of that size
};

MemoryLimits memory_limits_for(std::uint64_t memory_bytes, std::size_t cpus);

// The limits for this machine, or for the cgroup of this process (version 1 and 2, with all its parents) if that has less memory.
// `root` is /.
std::uint64_t memory_of_machine(const std::filesystem::path& root = "/");

// Of these, what programs can get now without swapping others out. What others in its cgroup take is not looked at.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

// Whether what programs have in memory can get to a disk.
bool has_swap(const std::filesystem::path& root = "/");

}  // namespace dedupfs
