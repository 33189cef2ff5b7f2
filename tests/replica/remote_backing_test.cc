#include "replica/remote_backing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "fake_image.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

constexpr const char* kAddress = "s3://backups/volume";

class RemoteBackingTest : public testing::Test {
 protected:
  RemoteBacking backing() {
    return RemoteBacking({.address = kAddress}, {.cache_bytes = 1 << 20, .block_bytes = 16},
                         [this](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                           if (refusal_) return *refusal_;
                           auto bucket = std::make_unique<MemoryBucket>(objects_, where.address);
                           bucket->set_hook([open = open_](const auto&, auto) {});
                           return bucket;
                         });
  }
  void ship(const std::string& content) {
    if (writer_.saved.epoch == 0) {
      ASSERT_TRUE(writer_.attach());
    }
    ASSERT_TRUE(writer_.ship({{"superblock.json", content}}));
  }
  static std::string content_in(BackingFolder& root) { return read_file(root, "superblock.json", 100).value(); }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  MemoryBucket bucket_{objects_};
  Writer writer_{bucket_};
  std::optional<Error> refusal_;
  const std::shared_ptr<int> open_ = std::make_shared<int>();  // each bucket that is open has a share
};

TEST_F(RemoteBackingTest, ShowsTheNewestHeadUnderItsAddress) {
  ship("old");
  ship("new");

  const auto root = backing().open_root("whatever");

  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(content_in(**root), "new");
  EXPECT_EQ((*root)->path(), kAddress);
}

TEST_F(RemoteBackingTest, AHeadIsKeptAsLongAsAFolderOfItIsInUse) {
  ship("old");
  RemoteBacking remote = backing();
  auto first = remote.open_root(kAddress).value();
  ship("new");

  EXPECT_EQ(remote.open_root(kAddress).value(), first);
  EXPECT_EQ(content_in(*first), "old");
  first.reset();
  EXPECT_EQ(content_in(*remote.open_root(kAddress).value()), "new");
}

// A process may fork, and a connection belongs to one.
TEST_F(RemoteBackingTest, NoBucketStaysOpenWithoutAFolder) {
  ship("content");
  RemoteBacking remote = backing();
  const long before = open_.use_count();

  auto root = remote.open_root(kAddress).value();
  EXPECT_GT(open_.use_count(), before);
  root.reset();

  EXPECT_EQ(open_.use_count(), before);
}

TEST_F(RemoteBackingTest, ABucketWithoutAVolumeIsNamed) {
  const auto root = backing().open_root(kAddress);

  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(root.error().message(), HasSubstr("s3://backups/volume holds no volume"));
}

TEST_F(RemoteBackingTest, WhyTheBucketCannotBeOpenedIsSaid) {
  refusal_ = Error{ErrorCode::kInvalidArgument, "no address"};

  EXPECT_EQ(backing().open_root(kAddress).error().message(), "no address");
}

TEST_F(RemoteBackingTest, ANewerHeadIsGivenWhenSomebodyAsksForIt) {
  ship("old");
  RemoteBacking remote = backing();
  const auto first = remote.open_root(kAddress).value();
  EXPECT_FALSE(remote.renew().value()) << "there is none";
  ship("new");
  EXPECT_EQ(content_in(*remote.open_root(kAddress).value()), "old");

  EXPECT_TRUE(remote.renew().value());
  EXPECT_TRUE(remote.renew().value()) << "nobody has opened it yet";

  const auto second = remote.open_root(kAddress).value();
  EXPECT_EQ(content_in(*second), "new");
  EXPECT_EQ(content_in(*first), "old") << "who has it open keeps it";
  EXPECT_FALSE(remote.renew().value());
  EXPECT_EQ(content_in(*remote.open_root(kAddress).value()), "new");
}

TEST_F(RemoteBackingTest, WhatWasShownIsNotTakenBack) {
  ship("first");
  ship("second");
  RemoteBacking remote = backing();
  ASSERT_EQ(content_in(*remote.open_root(kAddress).value()), "second");

  objects_->erase(head_object(2));
  const auto refused = remote.open_root(kAddress);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(refused.error().message(), HasSubstr("head 1 of volume"));
}

TEST_F(RemoteBackingTest, AnotherVolumeIsNotTakenForTheNextState) {
  ship("first");
  RemoteBacking remote = backing();
  const auto shown = remote.open_root(kAddress).value();
  const auto others = std::make_shared<MemoryObjects>();
  MemoryBucket bucket(others);
  Writer other(bucket);
  other.volume = "99999999-89ab-4def-8123-456789abcdef";
  ASSERT_TRUE(other.attach());
  for (const char* const content : {"its first", "its second"}) ASSERT_TRUE(other.ship({{"superblock.json", content}}));

  for (const auto& [name, stored] : others->image()) objects_->set(name, *stored.bytes);

  EXPECT_EQ(remote.renew().error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(content_in(*shown), "first");
}

}  // namespace
}  // namespace dedupfs
