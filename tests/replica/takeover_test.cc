// Who writes to a bucket next, also if the other machine does not stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_image.h"
#include "replica/shipper.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using Fault = MemoryBucket::Fault;
using Operation = MemoryBucket::Operation;

class TakeoverTest : public testing::Test {
 protected:
  TakeoverTest() {
    EXPECT_TRUE(writer_.attach());
    EXPECT_TRUE(writer_.ship(state(0)));
  }
  static Files state(int number) {
    return {{"containers/0000000001.container", "common"},
            {"index/000001.log", std::string(static_cast<std::size_t>(number + 1), 'x')},
            {"superblock.json", "{}"}};
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  MemoryBucket bucket_{objects_};
  MemoryBucket other_bucket_{objects_, "memory://other"};
  Writer writer_{bucket_};
  Writer other_{other_bucket_};
};

TEST_F(TakeoverTest, AClaimSucceedsAlthoughHeadsComeAllTheTime) {
  int shipped = 0;
  other_bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    const bool is_head = call.operation == Operation::kPut && call.object.starts_with(kHeadPrefix);
    if (!is_head || when != MemoryBucket::When::kBefore || shipped == 3) return;
    ASSERT_TRUE(writer_.ship(state(++shipped)));
  });

  const auto claimed = other_.claim();

  ASSERT_TRUE(claimed) << claimed.error().message();
  EXPECT_EQ(shipped, 3);
  EXPECT_EQ(files_of(other_bucket_, *claimed).value(), state(3)) << "nothing that was shipped is lost";
  const auto fenced = writer_.ship(state(4));
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().code(), kFenced);
  ASSERT_TRUE(other_.ship(state(5)));
  EXPECT_EQ(files_in(bucket_).value(), state(5));
}

// Until the volume is what the head says, it must not be taken for it: it would be shipped in its place.
TEST_F(TakeoverTest, AClaimKeepsNoPosition) {
  const RemotePosition before = other_.saved;
  bool is_saved = false;
  Shipper::Settings settings = other_.settings();
  settings.save = [&](const RemotePosition&) -> Result<void> {
    is_saved = true;
    return {};
  };

  ASSERT_TRUE(Shipper::claim(other_bucket_, "test", settings));

  EXPECT_FALSE(is_saved);
  EXPECT_EQ(other_.saved, before);
}

TEST_F(TakeoverTest, OfTwoClaimsTheLaterEpochStays) {
  Writer third(bucket_);
  bool is_first = true;
  other_bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation != Operation::kPut || !call.object.starts_with(kHeadPrefix)) return;
    if (when == MemoryBucket::When::kBefore && std::exchange(is_first, false)) {
      ASSERT_TRUE(third.claim());
    }
  });

  const auto late = other_.claim();

  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::kBusy);
  EXPECT_EQ(load_replica(bucket_).value()->head.epoch, 3u);
  EXPECT_TRUE(third.ship(state(1)));
  EXPECT_FALSE(writer_.ship(state(2)));
}

TEST_F(TakeoverTest, WhateverFailsTheBucketStaysWholeAndTheNextClaimSucceeds) {
  for (const Fault fault : {Fault::kFails, Fault::kAnswerLost, Fault::kDoneTwice, Fault::kDoneLater}) {
    for (std::uint64_t number = 1; number < 12; ++number) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " at " << number);
      MemoryBucket bucket(std::make_shared<MemoryObjects>(objects_->image()));
      Writer other(bucket);
      bucket.set_fault([&](const MemoryBucket::Call& call) { return call.number == number ? fault : Fault::kNone; });

      const auto claimed = other.claim();

      bucket.set_fault({});
      EXPECT_EQ(files_in(bucket).value(), state(0));
      bucket.land();
      EXPECT_EQ(files_in(bucket).value(), state(0));
      if (!claimed) {
        EXPECT_EQ(claimed.error().code(), ErrorCode::kIo);
        const auto again = other.claim();
        ASSERT_TRUE(again) << again.error().message();
      }
      EXPECT_TRUE(other.ship(state(1)));
      EXPECT_EQ(files_in(bucket).value(), state(1));
    }
  }
}

TEST_F(TakeoverTest, NothingIsClaimedWhereAnotherVolumeOrNoneIs) {
  MemoryBucket empty;
  Writer nobody(empty);
  EXPECT_EQ(nobody.claim().error().code(), ErrorCode::kNotFound);
  Shipper::Settings settings = other_.settings();
  settings.volume = "00000000-0000-4000-8000-000000000000";
  const auto refused = Shipper::claim(other_bucket_, "test", settings);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("another volume"));
  EXPECT_TRUE(writer_.ship(state(1)));
}

}  // namespace
}  // namespace dedupfs
