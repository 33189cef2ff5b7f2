#include "store/ingest/delta_worth.h"

#include <algorithm>
#include <cstdint>

#include "codec/registry.h"

namespace dedupfs {
namespace {

// A delta of so small a share of the chunk is kept unseen.
constexpr std::size_t kClearlySmallerShare = 64;
// Long enough to show that a page repeats itself.
constexpr std::size_t kSampleBytes = 4096;
// The whole may be compressed so many times better than the sample, unless that is compressed to less than such a share:
// then there is much that repeats itself beyond the sample, too, and compressing it all takes little time.
constexpr std::size_t kSampleMargin = 2;
constexpr std::size_t kSmallestSampledShare = 4;

constexpr bool is_worth_it(std::size_t delta_bytes, std::size_t chunk_bytes) {
  return delta_bytes * 10 < chunk_bytes * 6;
}

}  // namespace

bool DeltaWorth::pays(ByteSpan delta) {
  if (delta.size() <= chunk_.size() / kClearlySmallerShare) return true;
  if (pays_by_sample(delta.size())) return true;
  const std::size_t delta_bytes = compressed_size(delta);
  if (!is_worth_it(delta_bytes, chunk_.size())) return false;
  return pays_by_sample(delta_bytes) || is_worth_it(delta_bytes, chunk_bytes());
}

// Whether so many bytes pay even if the chunk is more compressible than its sample.
bool DeltaWorth::pays_by_sample(std::size_t delta_bytes) {
  return method_ == Method::kSample && !chunk_bytes_ && sampled_bytes() >= chunk_.size() / kSmallestSampledShare &&
         is_worth_it(delta_bytes * kSampleMargin, sampled_bytes());
}

std::size_t DeltaWorth::sampled_bytes() {
  if (!sampled_bytes_) {
    const std::size_t length = std::min(kSampleBytes, chunk_.size());
    const std::size_t compressed = compressed_size(chunk_.subspan((chunk_.size() - length) / 2, length));
    sampled_bytes_ = compressed * chunk_.size() / length;
  }
  return *sampled_bytes_;
}

std::size_t DeltaWorth::chunk_bytes() {
  if (!chunk_bytes_) chunk_bytes_ = compressed_size(chunk_);
  return *chunk_bytes_;
}

}  // namespace dedupfs
