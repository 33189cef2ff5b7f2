#include "mount/options/memory_limits.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "mount/options/binary_units.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kUnknownMemory = 4 * kGiB;

// Requests wait in a thread each, for the disk, or for memory while the pipeline is behind. No request waits for another one.
constexpr std::uint64_t kMinFuseThreads = 4;
constexpr std::uint64_t kMaxFuseThreads = 32;

// "max" and other words mean no limit.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// An entry of /proc/meminfo, such as "MemTotal:".
std::optional<std::uint64_t> memory_by_name(const std::filesystem::path& root, std::string_view entry) {
  std::ifstream meminfo(root / "proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kib = 0;
    if (words >> name >> kib && name == entry) return kib << 10;
  }
  return std::nullopt;
}

// The least of the limits of a group and of those above it.
std::uint64_t min_limit(const std::filesystem::path& hierarchy, const std::string& group, const char* file) {
  std::uint64_t least = UINT64_MAX;
  std::filesystem::path at = (hierarchy / group.substr(group.starts_with('/') ? 1 : 0)).lexically_normal();
  for (;; at = at.parent_path()) {
    least = std::min(least, number_in(at / file).value_or(UINT64_MAX));
    if (at == hierarchy || at == at.parent_path()) return least;
  }
}

// Lines of /proc/self/cgroup: "0::/group" of version 2, "4:memory:/group" of version 1.
std::uint64_t cgroup_limit(const std::filesystem::path& root) {
  std::uint64_t least = UINT64_MAX;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      for (const char* const hierarchy : {"sys/fs/cgroup", "sys/fs/cgroup/unified"})
        least = std::min(least, min_limit(root / hierarchy, group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, min_limit(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace

MemoryLimits memory_limits_for(std::uint64_t memory_bytes, std::size_t cpus) {
  const auto share = [&](std::uint64_t part, std::uint64_t least, std::uint64_t most) {
    return std::clamp(memory_bytes / part / kMiB * kMiB, least, most);
  };
  // A sixteenth of a small machine; a large one has more use for both caches than for more data on their way to the disk.
  const std::uint64_t sixteenth = share(16, 16 * kMiB, 256 * kMiB);
  const std::uint64_t of_large = share(64, 16 * kMiB, 16 * kGiB);
  return {
      .cache = std::max(sixteenth, of_large),
      .index = std::max(sixteenth, of_large),
      .dirty = sixteenth,
      .waiting_regions = share(64, 4 * kMiB, 32 * kMiB),
      .shipping = share(16, 16 * kMiB, 144 * kMiB),
      .group = share(64, 8 * kMiB, 64 * kMiB),
      .malloc_arenas = memory_bytes <= 2 * kGiB ? 2 : std::max<std::size_t>(2, cpus),
      .malloc_mmap_threshold = memory_bytes <= 256 * kMiB ? std::size_t{128} << 10 : 0,
      .fuse_threads = static_cast<unsigned>(std::clamp(memory_bytes / (16 * kMiB), kMinFuseThreads, kMaxFuseThreads))};
}

std::uint64_t memory_of_machine(const std::filesystem::path& root) {
  return std::min(memory_by_name(root, "MemTotal:").value_or(kUnknownMemory), cgroup_limit(root));
}

std::uint64_t available_memory(const std::filesystem::path& root) {
  const std::uint64_t most = memory_of_machine(root);
  return std::min(most, memory_by_name(root, "MemAvailable:").value_or(most));
}

bool has_swap(const std::filesystem::path& root) {
  std::ifstream swaps(root / "proc/swaps");
  std::string line;
  return std::getline(swaps, line) && std::getline(swaps, line);  // below a line of titles
}

}  // namespace dedupfs
