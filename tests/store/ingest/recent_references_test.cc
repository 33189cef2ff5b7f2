#include "store/ingest/recent_references.h"

#include <gtest/gtest.h>

#include <thread>

namespace dedupfs {
namespace {

RecentReferences::Window one(std::uint64_t id, std::uint64_t bytes) {
  return {.bytes = bytes, .new_bytes = bytes / 2, .ids = {ChunkId{id}}};
}

TEST(RecentReferences, KeepNothingBeforeTheyAreStarted) {
  RecentReferences references;

  references.note(one(1, 100));

  EXPECT_FALSE(references.take());
}

TEST(RecentReferences, CollectReferencesUntilAWindowIsFull) {
  RecentReferences references;
  references.start();

  references.note(one(1, RecentReferences::kWindowBytes / 2));
  references.note(one(2, RecentReferences::kWindowBytes / 2));
  references.note(one(3, 100));

  const auto full = references.take();
  ASSERT_TRUE(full);
  EXPECT_EQ(full->ids, (std::vector{ChunkId{1}, ChunkId{2}}));
  EXPECT_EQ(full->bytes, RecentReferences::kWindowBytes);
  EXPECT_EQ(full->new_bytes, RecentReferences::kWindowBytes / 2);
  const auto rest = references.take();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->ids, std::vector{ChunkId{3}});
  EXPECT_FALSE(references.take());
}

TEST(RecentReferences, DropTheOldestWindowWhenThereAreTooMany) {
  RecentReferences references;
  references.start();

  for (std::uint64_t i = 0; i <= RecentReferences::kMaxWindows; ++i)
    references.note(one(i, RecentReferences::kWindowBytes));

  EXPECT_EQ(references.take()->ids, std::vector{ChunkId{1}});
}

TEST(RecentReferences, EndTheWaitForAWindow) {
  RecentReferences references;
  references.start();
  std::thread ender([&] { references.end(); });

  EXPECT_FALSE(references.wait_for_window());

  ender.join();
}

}  // namespace
}  // namespace dedupfs
