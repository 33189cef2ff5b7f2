#include "store/chunks/damaged_chunks.h"

#include <limits>
#include <unordered_set>

#include "base/coding.h"

namespace dedupfs {

void DamagedChunks::insert(ChunkId first, std::size_t count) {
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < count && numbers_.size() < kMax; ++i)
    if (numbers_.insert(number_of(first) + i).second) ++version_;
  size_ = numbers_.size();
}

std::size_t DamagedChunks::erase(ChunkId first, std::size_t count) {
  if (size_ == 0) return 0;
  const MutexLock lock(mutex_);
  const auto from = numbers_.lower_bound(number_of(first));
  const auto to = numbers_.lower_bound(number_of(first) + count);
  if (from == to) return 0;
  numbers_.erase(from, to);
  const std::size_t before = size_.exchange(numbers_.size());
  ++version_;
  return before - numbers_.size();
}

bool DamagedChunks::contains(ChunkId id) const {
  if (size_ == 0) return false;
  const MutexLock lock(mutex_);
  return numbers_.contains(number_of(id));
}

std::vector<std::uint64_t> DamagedChunks::numbers() const {
  const MutexLock lock(mutex_);
  return {numbers_.begin(), numbers_.end()};
}

DamagedChunks::Encoded DamagedChunks::encode(const std::vector<ChunkId>& without) const {
  std::unordered_set<std::uint64_t> left_out;
  for (const ChunkId id : without) left_out.insert(number_of(id));
  const MutexLock lock(mutex_);
  Encoded encoded{{}, version_};
  Encoder encoder(encoded.bytes);
  std::uint64_t previous = 0;
  for (const std::uint64_t number : numbers_) {
    if (left_out.contains(number)) continue;
    encoder.varint(number - previous);
    previous = number;
  }
  return encoded;
}

void DamagedChunks::note_stored(std::uint64_t version, const std::vector<ChunkId>& without) {
  const MutexLock lock(mutex_);
  for (const ChunkId id : without) numbers_.erase(number_of(id));
  size_ = numbers_.size();
  stored_version_ = version;
}

Result<void> DamagedChunks::load(std::string_view encoded) {
  std::set<std::uint64_t> numbers;
  Decoder decoder(encoded);
  for (std::uint64_t number = 0; decoder.remaining() > 0;) {
    const std::uint64_t step = decoder.varint();
    if (!decoder.ok() || step == 0 || step > std::numeric_limits<std::uint64_t>::max() - number ||
        numbers.size() == kMax)
      return Error{ErrorCode::kCorruption, "index: the list of damaged chunks does not parse"};
    number += step;
    numbers.insert(number);
  }
  const MutexLock lock(mutex_);
  numbers_ = std::move(numbers);
  size_ = numbers_.size();
  stored_version_ = ++version_;
  return {};
}

}  // namespace dedupfs
