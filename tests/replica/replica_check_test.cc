#include "replica/replica_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fake_image.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ReplicaCheckTest : public testing::TestWithParam<std::size_t> {
 protected:
  ReplicaCheckTest() {
    EXPECT_TRUE(writer_.attach());
    EXPECT_TRUE(writer_.ship(files_));
    replica_ = load_replica(bucket_).value();
    for (const std::string& name : bucket_.objects().names())
      if (parse_piece_object(name)) pieces_.push_back(name);
  }
  CheckSettings settings() {
    return {.reads_all = true,
            .visit = [this](const Error& error, bool is_put_back) -> Result<void> {
              (is_put_back ? put_back_ : bad_).push_back(error.message());
              return {};
            },
            .when_read = [this](std::uint64_t read) { bytes_read_ += read; },
            .parallel = {.requests = GetParam()}};
  }
  CheckSettings repairing(const Files& from) {
    CheckSettings with_copy = settings();
    with_copy.other_copy = [from](const std::string& path, std::uint64_t offset, MutableByteSpan out) -> Result<void> {
      const auto found = from.find(path);
      if (found == from.end() || found->second.size() < offset + out.size()) return Error{ErrorCode::kNotFound, path};
      std::memcpy(out.data(), found->second.data() + offset, out.size());
      return {};
    };
    return with_copy;
  }

  MemoryBucket bucket_;
  Writer writer_{bucket_};
  const Files files_ = {{"containers/00000001.container", std::string(200, 'c')},
                        {"index/CURRENT", "MANIFEST-1\n"},
                        {"index/000012.sst", std::string(300, 't')},
                        {"superblock.json", "{}"}};
  std::optional<Replica> replica_;
  std::vector<std::string> pieces_;
  std::vector<std::string> bad_;
  std::vector<std::string> put_back_;
  std::uint64_t bytes_read_ = 0;
};

TEST_P(ReplicaCheckTest, AWholeOneHasNoFindings) {
  const auto check = check_replica(bucket_, *replica_, settings());
  ASSERT_TRUE(check);
  EXPECT_EQ(check->objects, pieces_.size());
  EXPECT_EQ(check->bytes, bytes_read_);
  EXPECT_EQ(check->bad, 0u);
  EXPECT_THAT(bad_, IsEmpty());
}

TEST_P(ReplicaCheckTest, NamesWhatIsMissingTooShortOrDamaged) {
  bucket_.objects().erase(pieces_.at(0));
  bucket_.objects().set(pieces_.at(2), "short");
  bucket_.objects().set(pieces_.at(4), std::string(bucket_.objects().image().at(pieces_.at(4)).bytes->size(), 'x'));

  const auto check = check_replica(bucket_, *replica_, settings());

  ASSERT_TRUE(check);
  EXPECT_EQ(check->bad, 3u);
  EXPECT_THAT(bad_, UnorderedElementsAre(HasSubstr(pieces_.at(0)), HasSubstr(pieces_.at(2)), HasSubstr(pieces_.at(4))));
}

TEST_P(ReplicaCheckTest, PutsBackWhatAnotherCopyHas) {
  const MemoryObjects::Image before = bucket_.objects().image();
  bucket_.objects().erase(pieces_.at(0));
  bucket_.objects().set(pieces_.at(2), "short");
  bucket_.objects().set(pieces_.at(4), std::string(before.at(pieces_.at(4)).bytes->size(), 'x'));

  const auto check = check_replica(bucket_, *replica_, repairing(files_));

  ASSERT_TRUE(check);
  EXPECT_EQ(check->put_back, 3u);
  EXPECT_THAT(bad_, IsEmpty());
  for (const std::string& piece : pieces_)
    EXPECT_EQ(*bucket_.objects().image().at(piece).bytes, *before.at(piece).bytes);
}

TEST_P(ReplicaCheckTest, WhatTheOtherCopyHasInADifferentFormIsNotPutBack) {
  bucket_.objects().erase(pieces_.at(0));
  Files others = files_;
  for (auto& [path, content] : others) content[0] = '!';

  const auto check = check_replica(bucket_, *replica_, repairing(others));

  ASSERT_TRUE(check);
  EXPECT_EQ(check->put_back, 0u);
  EXPECT_THAT(bad_, ElementsAre(HasSubstr(pieces_.at(0))));
  EXPECT_FALSE(bucket_.objects().image().contains(pieces_.at(0)));
}

TEST_P(ReplicaCheckTest, WhatTheStoreDoesNotLetGoIsNamedAndTheRestIsPutBack) {
  const MemoryObjects::Image before = bucket_.objects().image();
  for (const std::size_t i : {0u, 2u, 4u})
    bucket_.objects().set(pieces_.at(i), std::string(before.at(pieces_.at(i)).bytes->size(), 'x'));
  bucket_.set_fault([this](const MemoryBucket::Call& call) {
    const bool is_locked = call.operation == MemoryBucket::Operation::kRemove && call.object == pieces_.at(0);
    return is_locked ? MemoryBucket::Fault::kRefused : MemoryBucket::Fault::kNone;
  });

  const auto check = check_replica(bucket_, *replica_, repairing(files_));

  ASSERT_TRUE(check) << check.error().message();
  EXPECT_EQ(check->bad, 3u);
  EXPECT_EQ(check->put_back, 2u);
  EXPECT_THAT(bad_, ElementsAre(AllOf(HasSubstr(pieces_.at(0)), HasSubstr("cannot be put back"))));
  EXPECT_EQ(*bucket_.objects().image().at(pieces_.at(4)).bytes, *before.at(pieces_.at(4)).bytes);
}

TEST_P(ReplicaCheckTest, AStoreThatDoesNotAnswerIsNoFinding) {
  bucket_.set_fault([](const MemoryBucket::Call& call) {
    return call.operation == MemoryBucket::Operation::kRead ? MemoryBucket::Fault::kFails : MemoryBucket::Fault::kNone;
  });
  const auto check = check_replica(bucket_, *replica_, settings());
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code(), ErrorCode::kIo);
  EXPECT_THAT(bad_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, ReplicaCheckTest, testing::Values(1, 4));

}  // namespace
}  // namespace dedupfs
