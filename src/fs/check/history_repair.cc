#include "fs/check/history_repair.h"

#include <map>
#include <string>
#include <string_view>

#include "fs/format/history_records.h"
#include "index/entries.h"

namespace dedupfs {
namespace {

constexpr std::size_t kRecordsOfAPage = 512;

}  // namespace

Result<std::uint64_t> count_damaged_samples(const Database& database) {
  std::uint64_t damaged = 0;
  DEDUPFS_TRY(visit_entries(database, Family::kCounters, kHistoryPrefix, kEndOfHistory, kRecordsOfAPage,
                            [&](const std::string& key, const std::string& value) -> Result<void> {
                              if (!decode_history_sample(key, value)) ++damaged;
                              return {};
                            }));
  return damaged;
}

// The keys of samples that parse are few: fs/format/history_records.h.
Result<void> repair_history(const std::vector<const RecordSource*>& sources, BulkWriter& to) {
  std::map<std::string, HistorySample, std::less<>> samples;
  for (const RecordSource* source : sources) {
    if (source == nullptr) continue;
    DEDUPFS_TRY(source->walk(Family::kCounters, [&](std::string_view key, std::string_view value) {
      if (!is_history_key(key)) return true;
      const auto sample = decode_history_sample(key, value);
      if (!sample) return true;
      const auto [place, is_new] = samples.try_emplace(std::string(key), *sample);
      if (!is_new && sample->unix_seconds > place->second.unix_seconds) place->second = *sample;
      return true;
    }));
  }
  for (const auto& [key, sample] : samples) DEDUPFS_TRY(to.put(Family::kCounters, key, encode_history_sample(sample)));
  return {};
}

}  // namespace dedupfs
