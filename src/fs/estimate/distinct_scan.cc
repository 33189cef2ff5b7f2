#include "fs/estimate/distinct_scan.h"

namespace dedupfs {

void DistinctScan::begin_column() {
  columns_.emplace_back();
}

void DistinctScan::add(std::uint64_t fingerprint, std::uint32_t length) {
  ColumnCost& column = columns_.back();
  column.bytes += length;
  if (fingerprint > limit_) return;
  const auto number = static_cast<std::uint32_t>(columns_.size());
  Chunk& chunk = chunks_[fingerprint];
  if (chunk.last_column == number) return;
  const bool is_known = chunk.columns != 0;
  chunk = {.length = length, .columns = chunk.columns + 1, .last_column = number};
  column.alone += length / rate_;
  if (is_known) column.saved += length / rate_;
  if (number <= chunks_of_.size()) chunks_of_[number - 1].push_back(fingerprint);
  if (chunks_.size() > max_chunks_) drop_half();
}

void DistinctScan::drop_half() {
  limit_ /= 2;
  rate_ /= 2;
  std::erase_if(chunks_, [this](const auto& known) { return known.first > limit_; });
}

std::vector<double> DistinctScan::shares() const {
  std::vector<double> shares;
  for (const auto& fingerprints : chunks_of_) {
    double all = 0;
    double own = 0;
    for (const std::uint64_t fingerprint : fingerprints) {
      const auto found = chunks_.find(fingerprint);
      if (found == chunks_.end()) continue;
      all += found->second.length;
      own += static_cast<double>(found->second.length) / found->second.columns;
    }
    shares.push_back(all == 0 ? 1 : own / all);
  }
  return shares;
}

}  // namespace dedupfs
