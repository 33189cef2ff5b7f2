// Time and bytes of each stage of ingest, for new chunks, and what is moved beside them.
//
// Threads: every function from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/meter.h"

namespace dedupfs {

enum class IngestStage : std::uint8_t {
  kCut,          // content into chunks
  kFingerprint,  // of all chunks
  kLookUp,       // of all chunks: is there one with that content?
  kDelta,        // of new chunks: finding sources, reading them, encoding
  kCompress,     // regions of new chunks; their bytes before it
  kAppend,       // compressed regions to containers
  kSync,         // of containers, at a commit
  kCommit,       // the batch of a commit into the index
  kMove,         // compressing and appending chunks that are moved: settling, reclaim, defragmentation
};

class IngestMeter {
 public:
  static constexpr std::array<std::string_view, 9> kNames = {"cut",    "fingerprint", "look_up", "delta", "compress",
                                                             "append", "sync",        "commit",  "move"};

  WorkMeter& of(IngestStage stage) { return meters_[static_cast<std::size_t>(stage)]; }
  // One for each stage, in their order.
  std::vector<Named<WorkMeter::Reading>> readings() const {
    std::vector<Named<WorkMeter::Reading>> readings;
    for (std::size_t i = 0; i < kNames.size(); ++i) readings.push_back({kNames[i], meters_[i].read()});
    return readings;
  }

 private:
  std::array<WorkMeter, kNames.size()> meters_;
};

// Measures the stages that follow each other on one thread: each ends where the next one begins.
class StageTimer {
 public:
  explicit StageTimer(IngestMeter& meter) : meter_(meter) {}

  void end(IngestStage stage, std::uint64_t bytes) { meter_.of(stage).add(bytes, lap()); }
  // The time since the last end, and begins anew.
  MeterClock::duration lap() {
    const auto now = MeterClock::now();
    return now - std::exchange(began_, now);
  }

 private:
  IngestMeter& meter_;
  MeterClock::time_point began_ = MeterClock::now();
};

}  // namespace dedupfs
