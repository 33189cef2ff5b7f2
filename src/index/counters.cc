#include "index/counters.h"

#include "base/coding.h"

namespace dedupfs {

std::string encode_number(std::uint64_t number) {
  std::string encoded;
  Encoder(encoded).u64(number);
  return encoded;
}

Result<std::uint64_t> decode_number(std::string_view counter, std::string_view value) {
  Decoder decode(value);
  const std::uint64_t number = decode.u64();
  if (!decode.ok_at_end()) return Error{ErrorCode::kCorruption, "the counter " + std::string(counter) + " is damaged"};
  return number;
}

Result<std::optional<std::uint64_t>> get_number(const Database& index, std::string_view counter) {
  DEDUPFS_ASSIGN(const auto value, index.get(Family::kCounters, counter));
  if (!value) return std::optional<std::uint64_t>();
  DEDUPFS_ASSIGN(const std::uint64_t number, decode_number(counter, *value));
  return std::optional(number);
}

Result<void> CommittedNumber::append_to(Database::Batch& batch) {
  appended_ = current_();
  if (appended_ != stored_) batch.put(Family::kCounters, counter_, encode_number(appended_));
  return {};
}

}  // namespace dedupfs
