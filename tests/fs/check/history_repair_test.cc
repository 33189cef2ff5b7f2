#include "fs/check/history_repair.h"

#include <gtest/gtest.h>

#include <string>

#include "damaged_namespace.h"
#include "fs/format/history_records.h"

namespace dedupfs {
namespace {

HistorySample sample_at(std::int64_t unix_seconds, std::uint64_t disk_bytes) {
  HistorySample sample;
  sample.unix_seconds = unix_seconds;
  sample.disk_bytes = disk_bytes;
  return sample;
}

struct HistoryRepair : testing::Test {
  RecordsInMemory old_index, checkpoint;
  EmptyIndex index;

  static void put(RecordsInMemory& to, const HistorySample& sample) {
    to.put(Family::kCounters, hour_key_of(sample), encode_history_sample(sample));
    to.put(Family::kCounters, day_key_of(sample), encode_history_sample(sample));
  }
  void repair() {
    BulkWriter writer(*index);
    ASSERT_TRUE(ok(repair_history({nullptr, &old_index, &checkpoint}, writer)));
    ASSERT_TRUE(ok(writer.flush()));
  }
  std::uint64_t bytes_at(const std::string& key) {
    return value_of(decode_history_sample(key, index.get(Family::kCounters, key).value())).disk_bytes;
  }
};

TEST_F(HistoryRepair, SamplesOfAllSourcesStayAndTheLaterOneOfEachKey) {
  const HistorySample early = sample_at(3600 * 100, 1);
  const HistorySample same_hour = sample_at(3600 * 100 + 5, 2);
  const HistorySample other = sample_at(3600 * 200, 3);
  put(old_index, same_hour);
  put(checkpoint, early);
  put(checkpoint, other);

  repair();

  EXPECT_EQ(bytes_at(hour_key_of(early)), 2);
  EXPECT_EQ(bytes_at(hour_key_of(other)), 3);
  EXPECT_EQ(bytes_at(day_key_of(other)), 3);
}

TEST_F(HistoryRepair, DamagedOnesAreLeftOut) {
  const HistorySample sample = sample_at(3600 * 100, 1);
  put(checkpoint, sample);
  old_index.put(Family::kCounters, hour_key_of(sample), "junk");
  old_index.put(Family::kCounters, "history.more", "junk");

  repair();

  EXPECT_EQ(bytes_at(hour_key_of(sample)), 1);
  EXPECT_EQ(index.get(Family::kCounters, "history.more"), std::nullopt);
}

TEST_F(HistoryRepair, DamagedOnesAreCounted) {
  BulkWriter writer(*index);
  const HistorySample sample = sample_at(3600 * 100, 1);
  ASSERT_TRUE(ok(writer.put(Family::kCounters, hour_key_of(sample), encode_history_sample(sample))));
  ASSERT_TRUE(ok(writer.put(Family::kCounters, day_key_of(sample), "junk")));
  ASSERT_TRUE(ok(writer.put(Family::kCounters, "history.more", "")));
  ASSERT_TRUE(ok(writer.flush()));

  EXPECT_EQ(value_of(count_damaged_samples(*index)), 2);
}

}  // namespace
}  // namespace dedupfs
