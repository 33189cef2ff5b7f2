#include "replica/eviction/make_evicted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shipped_container.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class MakeEvictedTest : public testing::Test {
 protected:
  MakeEvictedTest() { container_.ship(); }
  Result<void> make() {
    return make_evicted(*evicted_, container_.name(), container_.file(), {.bucket = container_.bucket()});
  }

  const TempDir directory_;
  const std::shared_ptr<BackingFolder> evicted_ = folder_at(directory_.path() / "evicted");
  ShippedContainer container_;
};

TEST_F(MakeEvictedTest, SaysWhatOfItIsThere) {
  ASSERT_TRUE(make());

  const auto bytes = read_file(*evicted_, evicted_record_name(container_.name()), kMaxEvictedRecordBytes).value();
  const EvictedRecord record = decode_evicted_record(bytes_of(bytes)).value();
  EXPECT_EQ(record.file, container_.file());
  EXPECT_GT(record.kept.size(), 10u);
  EXPECT_EQ(evicted_->open(container_.name(), Backing::Mode::kRead).value()->size().value(),
            container_.content().size());
  EXPECT_LT(evicted_->status(container_.name()).value().allocated_bytes, container_.content().size() / 3);
}

TEST_F(MakeEvictedTest, WhatWasMadeIsNotMadeAgain) {
  ASSERT_TRUE(make());
  const std::uint64_t before = container_.reads();
  ASSERT_TRUE(remove_other_evicted(*evicted_, container_.files()));

  ASSERT_TRUE(make());

  EXPECT_EQ(container_.reads(), before);
}

TEST_F(MakeEvictedTest, WhatAFailureLeftIsMadeAnew) {
  container_.bucket().set_fault([&](const MemoryBucket::Call&) {
    return container_.reads() > 3 ? MemoryBucket::Fault::kFails : MemoryBucket::Fault::kNone;
  });
  ASSERT_FALSE(make());
  EXPECT_THAT(evicted_->list().value(), UnorderedElementsAre(container_.name())) << "there is no record yet";
  container_.bucket().set_fault({});

  ASSERT_TRUE(make());

  EXPECT_EQ(evicted_->list().value().size(), 2u);
}

TEST_F(MakeEvictedTest, WhatTheHeadHasNotIsRemoved) {
  ASSERT_TRUE(make());
  ASSERT_TRUE(replace_file(*evicted_, "probe.new", bytes_of("x")));
  ASSERT_TRUE(replace_file(*evicted_, container_name(7), bytes_of("x")));
  ASSERT_TRUE(remove_other_evicted(*evicted_, container_.files()));
  EXPECT_THAT(evicted_->list().value(),
              UnorderedElementsAre(container_.name(), evicted_record_name(container_.name())));
  RemoteFiles others = container_.files();
  others.begin()->second.pieces.front().sequence += 1;

  ASSERT_TRUE(remove_other_evicted(*evicted_, others));

  EXPECT_THAT(evicted_->list().value(), IsEmpty());
}

}  // namespace
}  // namespace dedupfs
