// How much more memory this process had at most, since the object was made, than it had then. Nothing in builds with sanitizers, which take
// several times as much themselves.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "support/sanitized.h"

namespace dedupfs {

class PeakMemory {
 public:
  PeakMemory() {
    ::mallopt(M_PERTURB, 0);  // Meson has malloc fill what it gives: memory that nobody touches would count, too
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak is what there is now
    before_ = status_bytes("VmRSS:");
  }
  std::uint64_t growth_bytes() const {
    if (kSanitized) return 0;
    const std::uint64_t peak = status_bytes("VmHWM:");
    return peak < before_ ? 0 : peak - before_;
  }

 private:
  static std::uint64_t status_bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(key)) return std::stoull(line.substr(key.size())) << 10;
    return 0;
  }

  std::uint64_t before_ = 0;
};

}  // namespace dedupfs
