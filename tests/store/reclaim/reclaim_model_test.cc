// Random writes, drops, reclaims, crashes and failures against a map: whatever is kept comes back, and what nobody keeps goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "reclaimed_volume.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;

class ReclaimModel : public testing::TestWithParam<int> {
 protected:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  // New, known, or like one that is known.
  ByteBuffer some_content() {
    if (pool_.size() < 8 || below(5) == 0) {
      pool_.push_back(random_bytes(2000 + below(20'000), random_()));
    } else if (below(2) == 0) {
      ByteBuffer content = pool_[below(pool_.size())];
      for (int edits = 0; edits < 3; ++edits) content[below(content.size())] ^= 1;
      pool_.push_back(std::move(content));
    }
    return pool_[below(pool_.size())];
  }
  void keep_some() {
    std::vector<ByteBuffer> contents(1 + below(6));
    for (ByteBuffer& content : contents) content = some_content();
    volume_.keep(contents);
  }
  void drop_some() {
    const std::uint64_t share = 1 + below(4);
    std::vector<ChunkId> dropped;
    for (const auto& [id, content] : volume_.kept())
      if (below(4) < share) dropped.push_back(id);
    for (const ChunkId id : dropped) volume_.drop(id);
  }

  void reclaim() {
    if (below(2) == 0) volume_.while_marking = [this] { keep_some(); };
    if (below(2) == 0) volume_.before_erasing = [this] { keep_some(); };
    const bool fails = below(3) == 0;
    if (below(3) != 0) {
      volume_.at_erased_extent(below(3), below(20), [this, fails]() -> Result<void> {
        keep_some();
        return fails ? Error{ErrorCode::kInterrupted, "stopped by the test"} : Result<void>();
      });
    } else if (fails) {
      volume_.progress = [this](ReclaimPhase) -> Result<void> {
        return below(5) == 0 ? Error{ErrorCode::kInterrupted, "stopped by the test"} : Result<void>();
      };
    }
    if (below(4) == 0) volume_.fail_commit = [this] { return below(4) == 0; };
    (void)volume_.reclaim();
    volume_.fail_commit = nullptr;
  }

  ReclaimedVolume volume_{GetParam() % 4 == 0 ? "none" : "odess+:depth=3,neighbours=" + std::to_string(GetParam() % 3)};

 private:
  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};
  std::vector<ByteBuffer> pool_;
};

TEST_P(ReclaimModel, WhatIsKeptComesBackAndTheRestGoes) {
  for (int step = 0; step < 100; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    switch (below(8)) {
      case 0: drop_some(); break;
      case 1: ASSERT_TRUE(volume_.commit()); break;
      case 2: volume_.begin_container(); break;
      case 3: reclaim(); break;
      case 4:
        if (below(4) == 0) volume_.reopen();
        break;
      default: keep_some(); break;
    }
    if (step % 10 == 0) volume_.expect_kept();
    if (HasFailure()) return;
  }

  ASSERT_TRUE(volume_.commit());
  EXPECT_THAT(volume_.check(), IsEmpty());
  volume_.expect_kept_for_good();
  ASSERT_TRUE(volume_.reclaim());
  EXPECT_THAT(volume_.check(), IsEmpty());
  volume_.expect_kept_for_good();
  volume_.drop_all();
  ASSERT_TRUE(volume_.reclaim());
  EXPECT_EQ(volume_.entries(Family::kChunks), 0u);
  EXPECT_EQ(volume_.entries(Family::kFingerprints), 0u);
  EXPECT_THAT(volume_.containers(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, ReclaimModel, testing::Range(1, kSanitized ? 5 : 13));

}  // namespace
}  // namespace dedupfs
