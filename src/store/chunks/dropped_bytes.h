// The bytes of chunks that files have dropped; other files may still refer to these chunks. It estimates how much a reclaim may
// find. It is remembered over mounts.
//
// Threads: every function from any thread; the functions of CommitParticipant as described there.
// Failure: kCorruption if the counter of the index is damaged.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "index/counters.h"
#include "index/database.h"

namespace dedupfs {

inline constexpr std::string_view kDroppedBytesCounter = "dropped_bytes";

class DroppedBytes {
 public:
  static Result<std::unique_ptr<DroppedBytes>> load(const Database& index) {
    DEDUPFS_ASSIGN(const auto stored, get_number(index, kDroppedBytesCounter));
    return std::make_unique<DroppedBytes>(stored.value_or(0));
  }
  explicit DroppedBytes(std::uint64_t stored)
      : bytes_(stored),
        counter_(
            kDroppedBytesCounter, [this] { return bytes_.load(); }, stored) {}
  DroppedBytes(const DroppedBytes&) = delete;
  DroppedBytes& operator=(const DroppedBytes&) = delete;

  void add(std::uint64_t bytes) { bytes_ += bytes; }
  void subtract(std::uint64_t bytes) { bytes_ -= bytes; }  // a reclaim has looked at them
  std::uint64_t count() const { return bytes_; }

  CommitParticipant& participant() { return counter_; }

 private:
  std::atomic<std::uint64_t> bytes_;
  CommittedNumber counter_;
};

}  // namespace dedupfs
