// Finds out which chunks resemble each other, from a few numbers a chunk.
//
// A chunk has 12 *features*: values that two chunks have in common about as often as they have content in common. Four
// features each are hashed to a *super-feature*; chunks that share one of their three super-features are near-duplicates in
// all likelihood, so that a delta between them is small. (Shilane, Huang, Wallace, Hsu: WAN optimized replication of backup
// datasets using stream-informed delta compression, FAST '12, section 3.)
//
// Threads: a detector has no state that changes; any number of calls at once.
// Results: the same on every CPU and instruction set, for good: super-features are kept in volumes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/isa.h"
#include "base/result.h"

namespace dedupfs {

inline constexpr std::size_t kFeatures = 12;
inline constexpr std::size_t kSuperFeatures = 3;

using Features = std::array<std::uint64_t, kFeatures>;

struct Sketch {
  std::array<std::uint64_t, kSuperFeatures> super_features{};

  bool operator==(const Sketch&) const = default;
};

class ResemblanceDetector {
 public:
  virtual ~ResemblanceDetector() = default;

  virtual std::string_view name() const = 0;
  virtual Isa isa() const = 0;  // of the kernel that serves
  // Takes a chunk of any length, even an empty one.
  virtual Features features(ByteSpan chunk) const = 0;
  // How the method makes super-features of its features.
  virtual Sketch sketch(const Features& features) const = 0;
  Sketch sketch_of(ByteSpan chunk) const { return sketch(features(chunk)); }
};

struct ResemblanceMethodInfo {
  std::string_view name;     // "odess+", "odess", "finesse", "n-transform"
  std::string_view summary;  // for people
};
const std::vector<ResemblanceMethodInfo>& resemblance_method_infos();

// By name; kInvalidArgument for a name that there is not, saying which there are. `isa` as default_isa() gives it, or a
// narrower one: the widest kernel up to it is taken.
Result<std::unique_ptr<ResemblanceDetector>> make_resemblance_detector(std::string_view method, Isa isa);

}  // namespace dedupfs
