#include "replica/clone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <string>

#include "fake_image.h"
#include "support/files.h"
#include "support/folder_at.h"
#include "support/memory_bucket.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kPieces = 4 + 5 + 1 + 1;  // of 64 bytes at most

class CloneTest : public testing::Test {
 protected:
  CloneTest() {
    fs::create_directory(clone_);
    EXPECT_TRUE(writer_.attach());
  }

  void ship(const Files& files) { ASSERT_TRUE(writer_.ship(files)); }
  Result<void> clone(const CloneSettings& settings = {}) {
    DEDUPFS_TRY(clone_replica(bucket_, *load_replica(bucket_).value(), *folder_at(clone_), settings));
    return finish_clone(*folder_at(clone_));
  }
  // Ends before the piece with this number.
  Result<void> clone_until(int pieces) {
    return clone({.go_on = [pieces]() mutable -> Result<void> {
      if (pieces-- > 0) return {};
      return Error{ErrorCode::kInterrupted, "enough"};
    }});
  }
  Files files_there() {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(clone_))
      if (entry.is_regular_file()) files[fs::relative(entry.path(), clone_)] = content_of(entry.path());
    return files;
  }
  std::size_t pieces_read() {
    std::size_t count = 0;
    bucket_.set_hook([&count](const MemoryBucket::Call& call, MemoryBucket::When when) {
      if (call.operation == MemoryBucket::Operation::kRead && when == MemoryBucket::When::kBefore &&
          parse_piece_object(call.object))
        ++count;
    });
    EXPECT_TRUE(clone());
    bucket_.set_hook({});
    return count;
  }

  TempDir folder_;
  const fs::path clone_ = folder_.path() / "clone";
  MemoryBucket bucket_;
  Writer writer_{bucket_};
  const Files files_ = {{"containers/00000001.container", std::string(200, 'c')},
                        {"containers/00000002.container", std::string(300, 'd')},
                        {"index/CURRENT", "MANIFEST-1\n"},
                        {"superblock.json", "{}"}};
};

TEST_F(CloneTest, IsAsWhatWasShippedAndNothingElse) {
  ship(files_);
  ASSERT_TRUE(clone());
  EXPECT_EQ(files_there(), files_);
  EXPECT_FALSE(find_unfinished_clone(*folder_at(clone_)).value());
}

TEST_F(CloneTest, OneThatWasInterruptedIsNoVolumeAndGoesOn) {
  ship(files_);
  for (int pieces = 0; pieces < kPieces; ++pieces) {
    EXPECT_FALSE(clone_until(pieces)) << pieces;
    EXPECT_FALSE(fs::exists(clone_ / "superblock.json")) << pieces;
    EXPECT_EQ(find_unfinished_clone(*folder_at(clone_)).value(), kImageUuid);
  }
  EXPECT_EQ(pieces_read(), 1u) << "only the superblock was missing";
  EXPECT_EQ(files_there(), files_);
}

TEST_F(CloneTest, WhatIsThereIsComparedNotTrusted) {
  ship(files_);
  ASSERT_FALSE(clone_until(kPieces - 1));
  overwrite(clone_ / "containers/00000001.container", std::string(150, 'c') + std::string(50, 'X'));
  overwrite(clone_ / "containers/00000002.container", std::string(400, 'd'));

  EXPECT_EQ(pieces_read(), 3u) << "the two that differ, and the superblock; a longer file is cut";

  EXPECT_EQ(files_there(), files_);
}

TEST_F(CloneTest, ItGoesOnWithANewerHead) {
  ship(files_);
  ASSERT_FALSE(clone_until(kPieces / 2));
  Files newer = files_;
  newer.erase("containers/00000001.container");
  newer["containers/00000003.container"] = std::string(100, 'e');
  newer["index/CURRENT"] = "MANIFEST-22\n";
  ship(newer);

  ASSERT_TRUE(clone());

  EXPECT_EQ(files_there(), newer);
}

TEST_F(CloneTest, WithoutItsEndItIsNoVolumeAgainUntilItIsWhole) {
  ship(files_);
  ASSERT_TRUE(clone_replica(bucket_, *load_replica(bucket_).value(), *folder_at(clone_), {}));
  EXPECT_TRUE(fs::exists(clone_ / "superblock.json"));

  ASSERT_FALSE(clone_until(0));

  EXPECT_FALSE(fs::exists(clone_ / "superblock.json"));
  ASSERT_TRUE(clone());
  EXPECT_EQ(files_there(), files_);
}

// A copy that somebody mounted for writing, and one of another head, are none that may be given up.
TEST_F(CloneTest, WhetherItIsAsItWasClonedIsFound) {
  ship(files_);
  ASSERT_TRUE(clone());
  const auto is_same = [this] {
    return is_as_cloned(*folder_at(clone_), *load_replica(bucket_).value(), [] { return Result<void>(); }).value();
  };
  overwrite(clone_ / "lock", "");
  EXPECT_TRUE(is_same()) << "what the volume does not consist of does not count";

  overwrite(clone_ / "superblock.json", "{evicted}");
  EXPECT_TRUE(is_same()) << "a clone of the index alone says so there";
  for (const auto& [path, content] : files_) {
    if (path == "superblock.json") continue;
    overwrite(clone_ / path, content + "x");
    EXPECT_FALSE(is_same()) << path;
    fs::remove(clone_ / path);
    EXPECT_FALSE(is_same()) << path;
    overwrite(clone_ / path, content);
    EXPECT_TRUE(is_same()) << path;
  }
  overwrite(clone_ / "index/CURRENT", "MANIFEST-2\n");
  EXPECT_FALSE(is_same());
  fs::remove_all(clone_ / "index");
  EXPECT_FALSE(is_same());
}

TEST_F(CloneTest, AWholeCloneIsBroughtToANewerHeadByWhatDiffers) {
  ship(files_);
  ASSERT_TRUE(clone());
  overwrite(clone_ / "remote.json", "{}");
  const Replica before = *load_replica(bucket_).value();
  Files newer = files_;
  newer.erase("containers/00000002.container");
  newer["containers/00000003.container"] = std::string(20, 'e');
  newer["index/CURRENT"] = "MANIFEST-2\n";
  ship(newer);

  ASSERT_TRUE(begin_anew(*folder_at(clone_), kImageUuid));
  EXPECT_FALSE(fs::exists(clone_ / "superblock.json")) << "in between, it is no volume";
  std::size_t pieces = 0;
  bucket_.set_hook([&pieces](const MemoryBucket::Call& call, MemoryBucket::When when) {
    pieces += call.operation == MemoryBucket::Operation::kRead && when == MemoryBucket::When::kBefore &&
              parse_piece_object(call.object);
  });
  ASSERT_TRUE(clone({.there = &before}));

  EXPECT_EQ(pieces, 3u) << "a container, CURRENT, and the superblock";
  newer["remote.json"] = "{}";
  EXPECT_EQ(files_there(), newer);
}

TEST_F(CloneTest, AnotherVolumeGoesElsewhere) {
  ship(files_);
  overwrite(clone_ / std::string(kUnfinishedClone), "another uuid");

  const auto cloned = clone();

  ASSERT_FALSE(cloned);
  EXPECT_EQ(cloned.error().code(), ErrorCode::kNotEmpty);
  EXPECT_THAT(cloned.error().message(), HasSubstr("another uuid"));
}

TEST_F(CloneTest, FilesAreReadSideBySide) {
  ship(files_);
  std::atomic<int> begun = 0;
  std::promise<void> both;
  const auto both_begun = both.get_future().share();
  bucket_.set_hook([&](const MemoryBucket::Call& call, MemoryBucket::When when) {
    if (call.operation != MemoryBucket::Operation::kRead || when != MemoryBucket::When::kBefore ||
        !parse_piece_object(call.object))
      return;
    if (++begun == 2) both.set_value();
    both_begun.wait();  // for ever, if one came after the other
  });
  std::uint64_t written = 0;
  ASSERT_TRUE(clone({.when_written = [&](std::uint64_t bytes) { written += bytes; }, .parallel = {.requests = 2}}));
  EXPECT_EQ(files_there(), files_);
  std::uint64_t all = 0;
  for (const auto& [path, content] : files_) all += content.size();
  EXPECT_EQ(written, all);
}

TEST_F(CloneTest, OneOfWhichAnObjectIsMissingBesideOthersIsNoVolume) {
  ship(files_);
  const auto replica = *load_replica(bucket_).value();
  const RemoteFile& file = replica.files.at("containers/00000002.container");
  const std::string object = piece_object("containers/00000002.container", 0, file.pieces.at(0));
  ASSERT_TRUE(bucket_.remove(object));
  const auto cloned = clone({.parallel = {.requests = 4}});
  ASSERT_FALSE(cloned);
  EXPECT_THAT(cloned.error().message(), HasSubstr(object));
  EXPECT_FALSE(files_there().contains("superblock.json"));
}

}  // namespace
}  // namespace dedupfs
