// What every bucket does: the one in memory, and that of S3.
#include "remote/bucket.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "s3_test_server.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Put = Bucket::Put;

struct Place {
  std::string name;
  std::function<std::unique_ptr<Bucket>()> make;
  std::function<std::unique_ptr<Bucket>()> make_without_conditions;
};

void PrintTo(const Place& place, std::ostream* out) {
  *out << place.name;
}

std::unique_ptr<Bucket> in_memory(bool has_conditions) {
  auto bucket = std::make_unique<MemoryBucket>();
  if (!has_conditions) bucket->objects().ignore_conditions();
  return bucket;
}
// In pages that are smaller than those that are asked for.
std::unique_ptr<Bucket> of_s3(bool has_conditions) {
  const S3TestServer& server = S3TestServer::begun({{"page", 7}, {"ignore_conditions", !has_conditions}});
  return open_s3_bucket(server.bucket_settings());
}

struct EveryBucket : testing::TestWithParam<Place> {
  Result<Put> put(const std::string& object, const std::string& bytes) {
    return bucket->put_new(object, object_of(bytes_of(bytes)));
  }
  Result<std::string> content(const std::string& object, std::uint64_t limit = 8 << 20) {
    DEDUPFS_ASSIGN(const ByteBuffer bytes, read_object(*bucket, object, limit));
    return std::string(text_of(bytes));
  }
  Result<std::string> part(const std::string& object, std::uint64_t offset, std::size_t length) {
    std::string out(length, '?');
    DEDUPFS_ASSIGN(const std::size_t received,
                   bucket->read(object, offset, {reinterpret_cast<std::uint8_t*>(out.data()), length}));
    return out.substr(0, received);
  }
  std::vector<std::string> names(const std::string& prefix = "", const std::string& after = "") {
    std::vector<std::string> found;
    const auto listed = bucket->list(prefix, after, [&](const Bucket::Object& object) -> Result<void> {
      found.push_back(object.name);
      return {};
    });
    EXPECT_TRUE(listed) << listed.error().message();
    return found;
  }

  const std::unique_ptr<Bucket> bucket = GetParam().make();
};

TEST_P(EveryBucket, PutsAnObjectOnce) {
  EXPECT_EQ(put("head/1", "first").value(), Put::kMade);
  EXPECT_EQ(put("head/1", "first").value(), Put::kSame);
  EXPECT_EQ(put("head/1", "other").value(), Put::kOther);
  EXPECT_EQ(content("head/1").value(), "first");
}

TEST_P(EveryBucket, LetsOneOfManyWin) {
  constexpr int kWriters = 4;
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> winners{0};
    std::atomic<int> losers{0};
    {
      std::vector<std::jthread> writers;
      for (int i = 0; i < kWriters; ++i)
        writers.emplace_back([&, i] {
          const auto done = put(fmt::format("head/{}", round), fmt::format("of {}", i));
          winners += done && *done == Put::kMade;
          losers += done && *done == Put::kOther;
        });
    }
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(losers, kWriters - 1);
  }
}

TEST_P(EveryBucket, KeepsAnyBytesUnderNamesWithAnyPlainText) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  for (const std::string name : {"a b+c&d=e%41?f#g", "äöü/…", "c/00000001/0000000001.container", "~-_.*'()"}) {
    ASSERT_EQ(put(name, bytes).value(), Put::kMade) << name;
    EXPECT_EQ(content(name).value(), bytes) << name;
  }
  EXPECT_THAT(names(), ElementsAre("a b+c&d=e%41?f#g", "c/00000001/0000000001.container", "~-_.*'()", "äöü/…"));
}

TEST_P(EveryBucket, ReadsPartsUpToTheEnd) {
  ASSERT_TRUE(put("a", "0123456789"));
  EXPECT_EQ(part("a", 0, 4).value(), "0123");
  EXPECT_EQ(part("a", 4, 6).value(), "456789");
  EXPECT_EQ(part("a", 8, 100).value(), "89");
  EXPECT_EQ(part("a", 9, 1).value(), "9");
  EXPECT_EQ(part("a", 10, 5).value(), "");
  EXPECT_EQ(part("a", 1'000'000, 5).value(), "");
  EXPECT_EQ(part("a", UINT64_MAX, 5).value(), "");
  EXPECT_EQ(part("a", 3, 0).value(), "");
}

TEST_P(EveryBucket, HasObjectsWithoutBytes) {
  ASSERT_EQ(put("empty", "").value(), Put::kMade);
  EXPECT_EQ(put("empty", "").value(), Put::kSame);
  EXPECT_EQ(content("empty").value(), "");
  EXPECT_EQ(part("empty", 0, 10).value(), "");
  EXPECT_THAT(names(), ElementsAre("empty"));
}

TEST_P(EveryBucket, ReadsObjectsOfMoreThanAPiece) {
  std::string bytes((1 << 20) * 2 + 17, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
  ASSERT_TRUE(put("large", bytes));
  EXPECT_EQ(content("large").value(), bytes);
  EXPECT_EQ(content("large", bytes.size()).value(), bytes);
  EXPECT_EQ(content("large", bytes.size() - 1).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(content("large", 10).error().code(), ErrorCode::kCorruption);
}

TEST_P(EveryBucket, SaysWhichObjectIsNotThere) {
  const auto missing = content("c/1/2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(bucket->name() + "/c/1/2"));
}

TEST_P(EveryBucket, ListsInTheOrderOfNames) {
  for (const char* name : {"w/2", "c/10", "c/1", "c/2", "c", "ca", "i/x/y"}) ASSERT_TRUE(put(name, name)) << name;
  EXPECT_THAT(names(), ElementsAre("c", "c/1", "c/10", "c/2", "ca", "i/x/y", "w/2"));
  EXPECT_THAT(names("c/"), ElementsAre("c/1", "c/10", "c/2"));
  EXPECT_THAT(names("c/", "c/1"), ElementsAre("c/10", "c/2"));
  EXPECT_THAT(names("c/", "c/11"), ElementsAre("c/2"));
  EXPECT_THAT(names("c/", "c/2"), IsEmpty());
  EXPECT_THAT(names("c/", "a"), ElementsAre("c/1", "c/10", "c/2"));
  EXPECT_THAT(names("", "i"), ElementsAre("i/x/y", "w/2"));
  EXPECT_THAT(names("nothing"), IsEmpty());
}

TEST_P(EveryBucket, ListsManyPages) {
  std::vector<std::string> expected;
  for (int i = 0; i < 30; ++i) expected.push_back(fmt::format("c/{:04}", i));
  for (const std::string& name : expected) ASSERT_TRUE(put(name, "x"));
  EXPECT_EQ(names(), expected);
  EXPECT_THAT(names("c/", "c/0006"), SizeIs(23));
}

TEST_P(EveryBucket, TellsSizeAndTime) {
  ASSERT_TRUE(put("a", "0123456789"));
  int seen = 0;
  ASSERT_TRUE(bucket->list("", "", [&](const Bucket::Object& object) -> Result<void> {
    ++seen;
    EXPECT_EQ(object.size, 10u);
    EXPECT_LT(std::chrono::abs(object.modified - std::chrono::system_clock::now()), std::chrono::minutes(1));
    return {};
  }));
  EXPECT_EQ(seen, 1);
}

TEST_P(EveryBucket, EndsAListingThatTheCallerEnds) {
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(put(fmt::format("{}", i), "x"));
  int seen = 0;
  const auto listed = bucket->list("", "", [&](const Bucket::Object&) -> Result<void> {
    if (++seen == 3) return Error{ErrorCode::kInterrupted, "enough"};
    return {};
  });
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().message(), "enough");
  EXPECT_EQ(seen, 3);
}

TEST_P(EveryBucket, RemovesWhatIsThereAndWhatIsNot) {
  ASSERT_TRUE(put("a", "x"));
  EXPECT_TRUE(bucket->remove("a"));
  EXPECT_TRUE(bucket->remove("a"));
  EXPECT_EQ(content("a").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(put("a", "another").value(), Put::kMade);
}

TEST_P(EveryBucket, RefusesNamesThatLeadElsewhere) {
  const std::string text = "x";
  std::uint8_t byte = 0;
  for (const std::string& name :
       {std::string(), std::string("a//b"), std::string("/a"), std::string("a/"), std::string("../a"),
        std::string("a/./b"), std::string("a\nb"), std::string("a\\b"), std::string("\xff"), std::string(901, 'a')}) {
    EXPECT_EQ(put(name, text).error().code(), ErrorCode::kInvalidArgument) << name;
    EXPECT_EQ(bucket->read(name, 0, {&byte, 1}).error().code(), ErrorCode::kInvalidArgument) << name;
    EXPECT_EQ(bucket->remove(name).error().code(), ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(EveryBucket, GivesBackTheErrorOfTheSource) {
  int reads = 0;
  const ObjectSource source{.size = 10, .sha256 = {}, .read = [&](std::uint64_t, MutableByteSpan) -> Result<void> {
                              ++reads;
                              return Error{ErrorCode::kIo, "the disk is broken"};
                            }};
  const auto done = bucket->put_new("a", source);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "the disk is broken");
  EXPECT_EQ(reads, 1);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(EveryBucket, IsProbed) {
  EXPECT_TRUE(probe(*bucket));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(EveryBucket, IsRefusedIfItOverwrites) {
  const auto overwriting = GetParam().make_without_conditions();
  const auto probed = probe(*overwriting);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(probed.error().message(), HasSubstr("If-None-Match"));
}

INSTANTIATE_TEST_SUITE_P(Buckets, EveryBucket,
                         testing::Values(Place{"InMemory", [] { return in_memory(true); },
                                               [] { return in_memory(false); }},
                                         Place{"OfS3", [] { return of_s3(true); }, [] { return of_s3(false); }}),
                         [](const auto& tested) { return tested.param.name; });

TEST(Probe, BelievesAStoreWhoseAnswerWasLost) {
  MemoryBucket bucket;
  bucket.set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kDoneTwice; });
  EXPECT_TRUE(probe(bucket));
}

}  // namespace
}  // namespace dedupfs
