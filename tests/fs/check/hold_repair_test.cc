#include "fs/check/hold_repair.h"

#include <gmock/gmock.h>

#include "damaged_namespace.h"
#include "fs/format/hold_records.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Holds = std::map<TreeNumber, SnapshotHold>;

struct HoldRepair : testing::Test {
  RecordsInMemory old_index, checkpoint;
  EmptyIndex index;

  static void put(RecordsInMemory& to, const Holds& holds, std::uint64_t seconds) {
    to.put(Family::kCounters, std::string(kHoldsCounter), encode_holds(holds));
    to.put(Family::kCounters, std::string(kVolumeTimeCounter), encode_volume_time({.seconds = seconds, .boot = {}}));
  }
  void repair(bool has_holds = true) {
    BulkWriter writer(*index);
    ASSERT_TRUE(ok(repair_holds({&old_index, &checkpoint}, has_holds, writer, index.log())));
    ASSERT_TRUE(ok(writer.flush()));
  }
  Holds holds() const {
    return value_of(decode_holds(index.get(Family::kCounters, std::string(kHoldsCounter)).value()));
  }
  std::uint64_t seconds() const {
    return value_of(decode_volume_time(index.get(Family::kCounters, std::string(kVolumeTimeCounter)).value())).seconds;
  }
};

TEST_F(HoldRepair, HoldsOfBothSourcesStayAndTheLongerOneOfEach) {
  put(old_index, {{2, {.until_unix_seconds = 90, .until_volume_seconds = 5}}, {3, {.until_released = true}}}, 100);
  put(checkpoint, {{1, {.until_released = true}}, {2, {.until_unix_seconds = 80, .until_volume_seconds = 7}}}, 40);

  repair();

  EXPECT_EQ(holds(), (Holds{{1, {.until_released = true}},
                            {2, {.until_unix_seconds = 90, .until_volume_seconds = 7}},
                            {3, {.until_released = true}}}));
  EXPECT_EQ(seconds(), 100u);
  EXPECT_THAT(index.lost, IsEmpty());
}

TEST_F(HoldRepair, WithoutTheNewestRecordThoseOfTheCheckpointStayAndItSaysSo) {
  put(checkpoint, {{1, {.until_released = true}}}, 40);
  old_index.put(Family::kCounters, std::string(kHoldsCounter), "\xff");

  repair();

  EXPECT_EQ(holds(), (Holds{{1, {.until_released = true}}}));
  EXPECT_EQ(seconds(), 40u);
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("the newest record of held snapshots is lost")));
}

TEST_F(HoldRepair, ALostRecordIsSaid) {
  repair();

  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("no snapshot is held any more"), HasSubstr("time of the volume")));
  EXPECT_EQ(holds(), Holds());
}

TEST_F(HoldRepair, AVolumeThatNeverHadHoldsHasLostNone) {
  repair(/*has_holds=*/false);

  EXPECT_THAT(index.lost, IsEmpty());
  EXPECT_EQ(index.get(Family::kCounters, std::string(kHoldsCounter)), std::nullopt);
}

}  // namespace
}  // namespace dedupfs
