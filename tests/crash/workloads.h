// What the campaign does to a filesystem before the power goes.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>

#include "crash/recorded_run.h"

namespace dedupfs {

struct Workload {
  std::string_view name;
  // Drives an open run; `length` is about how many rounds it makes.
  void (*drive)(RecordedRun& run, std::mt19937_64& random, int length);
  int length = 8;
  int short_length = 3;  // of the fault sweep
  std::chrono::milliseconds commit_interval = std::chrono::hours(1);
  unsigned defragment_percent = 0;
  bool from_nothing = false;  // makes the volume itself
};

std::span<const Workload> workloads();

// Records one run of it. A workload from nothing makes an encrypted volume if `volume` is one. Of `options`, what the workload says itself does
// not count. With `fault`, that is set once the filesystem is open (for a workload from nothing: at once).
History record(const Workload& workload, std::uint64_t seed, const DiskImage& volume, RunOptions options = {});
History record_with_fault(const Workload& workload, std::uint64_t seed, const DiskImage& volume,
                          MemoryDisk::FaultSource fault);

}  // namespace dedupfs
