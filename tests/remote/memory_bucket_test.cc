// The faults of the bucket in memory, which tests of others stand on. What all buckets do is in bucket_test.cc.
#include "support/memory_bucket.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Fault = MemoryBucket::Fault;
using Operation = MemoryBucket::Operation;
using Put = Bucket::Put;

struct MemoryBucketTest : testing::Test {
  Result<Put> put(const std::string& object, const std::string& bytes) {
    return bucket.put_new(object, object_of(bytes_of(bytes)));
  }
  Result<std::string> content(const std::string& object) {
    DEDUPFS_ASSIGN(const ByteBuffer bytes, read_object(bucket, object, 1 << 20));
    return std::string(text_of(bytes));
  }
  Result<std::vector<std::string>> names() {
    std::vector<std::string> names;
    DEDUPFS_TRY(bucket.list("", "", [&](const Bucket::Object& object) -> Result<void> {
      names.push_back(object.name);
      return {};
    }));
    return names;
  }
  // The operation of that number does so.
  void fail_at(std::uint64_t number, Fault fault) {
    bucket.set_fault([=](const MemoryBucket::Call& call) { return call.number == number ? fault : Fault::kNone; });
  }

  MemoryBucket bucket;
};

TEST_F(MemoryBucketTest, WhatFailsIsNotDone) {
  ASSERT_EQ(put("there", "x").value(), Put::kMade);
  bucket.set_fault([](const MemoryBucket::Call&) { return Fault::kFails; });
  EXPECT_EQ(put("new", "x").error().code(), ErrorCode::kIo);
  EXPECT_EQ(content("there").error().code(), ErrorCode::kIo);
  EXPECT_EQ(names().error().code(), ErrorCode::kIo);
  EXPECT_EQ(bucket.remove("there").error().code(), ErrorCode::kIo);
  EXPECT_THAT(bucket.objects().names(), ElementsAre("there"));
}

TEST_F(MemoryBucketTest, AnAnswerThatIsLostHidesWhatWasDone) {
  fail_at(1, Fault::kAnswerLost);
  const auto lost = put("a", "x");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::kIo);
  EXPECT_THAT(lost.error().message(), AllOf(HasSubstr("memory://bucket/a"), HasSubstr("operation 1, PUT")));
  EXPECT_EQ(put("a", "x").value(), Put::kSame);
  fail_at(3, Fault::kAnswerLost);
  EXPECT_EQ(bucket.remove("a").error().code(), ErrorCode::kIo);
  EXPECT_THAT(bucket.objects().names(), IsEmpty());
}

TEST_F(MemoryBucketTest, AListingWhoseAnswerIsLostWasSeen) {
  ASSERT_TRUE(put("a", "x"));
  fail_at(2, Fault::kAnswerLost);
  std::vector<std::string> seen;
  EXPECT_FALSE(bucket.list("", "", [&](const Bucket::Object& object) -> Result<void> {
    seen.push_back(object.name);
    return {};
  }));
  EXPECT_THAT(seen, ElementsAre("a"));
}

TEST_F(MemoryBucketTest, WhatIsDoneTwiceFindsItself) {
  bucket.set_fault([](const MemoryBucket::Call&) { return Fault::kDoneTwice; });
  EXPECT_EQ(put("a", "x").value(), Put::kSame);
  EXPECT_EQ(put("a", "other").value(), Put::kOther);
  EXPECT_EQ(content("a").value(), "x");
  EXPECT_THAT(names().value(), ElementsAre("a"));
  EXPECT_TRUE(bucket.remove("a"));
  EXPECT_THAT(bucket.objects().names(), IsEmpty());
}

TEST_F(MemoryBucketTest, WhatIsDoneLaterLandsWhenItsCallerIsGone) {
  fail_at(1, Fault::kDoneLater);
  {
    const std::string bytes = "first";
    EXPECT_EQ(put("a", bytes).error().code(), ErrorCode::kIo);
  }
  EXPECT_THAT(bucket.objects().names(), IsEmpty());
  EXPECT_EQ(bucket.land(), 1u);
  EXPECT_EQ(bucket.land(), 0u);
  EXPECT_EQ(content("a").value(), "first");
  // It does not take the place of what came meanwhile.
  fail_at(bucket.calls() + 1, Fault::kDoneLater);
  EXPECT_FALSE(put("b", "late"));
  EXPECT_EQ(put("b", "meanwhile").value(), Put::kMade);
  EXPECT_EQ(bucket.land(), 1u);
  EXPECT_EQ(content("b").value(), "meanwhile");
}

TEST_F(MemoryBucketTest, HooksStandBeforeAndAfterEachOperation) {
  std::vector<std::string> log;
  bucket.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    log.push_back(fmt::format("{} {} {} {} of {}", when == MemoryBucket::When::kBefore ? "before" : "after",
                              call.number, name_of(call.operation), call.object, bucket.objects().names().size()));
  });
  ASSERT_TRUE(put("a", "x"));
  ASSERT_TRUE(names());
  fail_at(3, Fault::kFails);
  EXPECT_FALSE(bucket.remove("a"));
  ASSERT_TRUE(bucket.remove("a"));
  EXPECT_THAT(log, ElementsAre("before 1 PUT a of 0", "after 1 PUT a of 1", "before 2 LIST  of 1", "after 2 LIST  of 1",
                               "before 3 REMOVE a of 1", "after 3 REMOVE a of 1", "before 4 REMOVE a of 1",
                               "after 4 REMOVE a of 0"));
}

TEST_F(MemoryBucketTest, ACopyOfTheObjectsIsWhatACrashLeaves) {
  ASSERT_TRUE(put("a", "x"));
  const MemoryObjects::Image left = bucket.objects().image();
  ASSERT_TRUE(bucket.remove("a"));
  ASSERT_TRUE(put("b", "y"));
  MemoryBucket after(std::make_shared<MemoryObjects>(left));
  EXPECT_THAT(after.objects().names(), ElementsAre("a"));
  EXPECT_EQ(text_of(read_object(after, "a", 10).value()), "x");
}

TEST_F(MemoryBucketTest, TwoWritersOverTheSameObjectsHaveFaultsOfTheirOwn) {
  const auto objects = std::make_shared<MemoryObjects>();
  MemoryBucket one(objects);
  MemoryBucket other(objects);
  const std::string text = "of one";
  one.set_fault([](const MemoryBucket::Call&) { return Fault::kAnswerLost; });
  EXPECT_FALSE(one.put_new("head/1", object_of(bytes_of(text))));
  EXPECT_EQ(other.put_new("head/1", object_of(bytes_of(std::string_view("of the other")))).value(), Put::kOther);
  EXPECT_EQ(other.calls(), 1u);
}

TEST_F(MemoryBucketTest, ItsClockIsThatOfTheTest) {
  const std::chrono::system_clock::time_point then{std::chrono::hours(24 * 365)};
  bucket.objects().set_clock([=] { return then; });
  ASSERT_TRUE(put("a", "x"));
  ASSERT_TRUE(bucket.list("", "", [&](const Bucket::Object& object) -> Result<void> {
    EXPECT_EQ(object.modified, then);
    return {};
  }));
}

TEST_F(MemoryBucketTest, BytesThatAreNotThoseOfTheirChecksumAreRefused) {
  const std::string text = "text";
  ObjectSource source = object_of(bytes_of(text));
  source.sha256[0] ^= 1;
  EXPECT_EQ(bucket.put_new("a", source).error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(bucket.objects().names(), IsEmpty());
}

}  // namespace
}  // namespace dedupfs
