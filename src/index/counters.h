// Named numbers in the index (Family::kCounters).
//
// Threads: free functions, safe from any thread. CommittedNumber: as CommitParticipant.
// Failure: kCorruption names the counter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "index/commit_participant.h"
#include "index/database.h"

namespace dedupfs {

inline constexpr std::string_view kVolumeUuidCounter =
    "volume_uuid";  // UUID of the volume that the index belongs to, as text

std::string encode_number(std::uint64_t number);
Result<std::uint64_t> decode_number(std::string_view counter, std::string_view value);
Result<std::optional<std::uint64_t>> get_number(const Database& index, std::string_view counter);

// A number that others change at any time. Each commit stores its value, if the index has another one.
class CommittedNumber final : public CommitParticipant {
 public:
  CommittedNumber(std::string_view counter, std::function<std::uint64_t()> current, std::uint64_t stored)
      : counter_(counter), current_(std::move(current)), stored_(stored) {}

  void freeze() override {}
  Result<void> append_to(Database::Batch& batch) override;
  void committed() override { stored_ = appended_; }
  void failed(CommitFailure /*failure*/) override {}

 private:
  const std::string counter_;
  const std::function<std::uint64_t()> current_;
  std::uint64_t stored_;
  std::uint64_t appended_ = 0;  // to the batch that may be written next
};

}  // namespace dedupfs
