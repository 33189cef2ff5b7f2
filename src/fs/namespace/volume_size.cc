#include "fs/namespace/volume_size.h"

#include <algorithm>

#include "base/mutex.h"

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kTrustedFor{1};
constexpr int kTimesLonger = 50;

}  // namespace

Result<std::uint64_t> VolumeSize::bytes() {
  const MutexLock lock(mutex_);
  const Clock::time_point begin = now_();
  if (begin < known_until_) return known_;
  DEDUPFS_ASSIGN(known_, measure_());
  const Clock::time_point end = now_();
  known_until_ = end + std::max<Clock::duration>(kTrustedFor, (end - begin) * kTimesLonger);
  return known_;
}

}  // namespace dedupfs
