#include "fs/history/history_series.h"

#include <algorithm>
#include <string>

#include "fs/format/local_time.h"
#include "index/entries.h"

namespace dedupfs {
namespace {

constexpr std::int64_t kSecondsOfAWeek = 7 * kSecondsOfADay;
constexpr std::size_t kSamplesOfAPage = 512;

}  // namespace

Result<std::vector<HistorySample>> read_history(const Metadata& metadata, std::int64_t now) {
  std::vector<HistorySample> samples;
  DEDUPFS_TRY(visit_entries(metadata, Family::kCounters, kHistoryPrefix, kEndOfHistory, kSamplesOfAPage,
                            [&](const std::string& key, const std::string& value) -> Result<void> {
                              const auto sample = decode_history_sample(key, value);
                              if (!sample || sample->unix_seconds > now + kSecondsOfADay) return {};
                              const bool is_recent = sample->unix_seconds > now - kSecondsOfAWeek;
                              if (is_recent || key == day_key_of(*sample)) samples.push_back(*sample);
                              return {};
                            }));
  std::ranges::stable_sort(samples, {}, &HistorySample::unix_seconds);
  // As std::ranges::unique(), which clang 14 cannot compile with this library.
  const auto has_same_time = [](const HistorySample& a, const HistorySample& b) {
    return a.unix_seconds == b.unix_seconds;
  };
  samples.erase(std::unique(samples.begin(), samples.end(), has_same_time), samples.end());
  return samples;
}

void put_history_sample(Metadata& metadata, const HistorySample& sample) {
  const std::string value = encode_history_sample(sample);
  metadata.put(Family::kCounters, hour_key_of(sample), value);
  metadata.put(Family::kCounters, day_key_of(sample), value);
}

}  // namespace dedupfs
