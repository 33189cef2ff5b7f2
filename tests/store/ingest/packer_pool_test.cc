#include "store/ingest/packer_pool.h"

#include <gtest/gtest.h>

#include <deque>

#include "sample_region.h"
#include "store/chunks/fingerprint.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxOpen = 16;

class PackerPoolTest : public testing::Test {
 protected:
  void pack(const PackerPool::Lease& packer, std::uint64_t seed) {
    const ByteBuffer chunk = random_bytes(1000, seed);
    packer->add(fingerprint_of(chunk), chunk);
  }

  PendingChunks pending_;
  ChunkIdAllocator ids_{1};
  std::vector<std::shared_ptr<PendingRegion>> closed_;
  PackerPool pool_{pending_, ids_, 64 << 10, [this](auto region) { closed_.push_back(std::move(region)); }};
};

TEST_F(PackerPoolTest, TheNextStreamGoesOnFillingTheRegionOfTheLast) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) pack(PackerPool::Lease(pool_), seed);
  EXPECT_EQ(closed_.size(), 0U);
  pool_.close_all();
  ASSERT_EQ(closed_.size(), 1U);
  EXPECT_EQ(closed_[0]->region->entries.size(), 3U);
}

TEST_F(PackerPoolTest, StreamsAtOneTimeHaveRegionsOfTheirOwn) {
  const PackerPool::Lease first(pool_);
  const PackerPool::Lease second(pool_);
  pack(first, 1);
  pack(second, 2);
  pool_.close_all();
  EXPECT_EQ(closed_.size(), 2U);
}

TEST_F(PackerPoolTest, NoMoreThanSomeRegionsWaitOpen) {
  {
    std::deque<PackerPool::Lease> streams;
    for (std::uint64_t seed = 1; seed <= kMaxOpen + 3; ++seed) pack(streams.emplace_back(pool_), seed);
  }
  EXPECT_EQ(closed_.size(), 3U);
}

TEST_F(PackerPoolTest, WhatHoldsNothingIsNotWritten) {
  { const PackerPool::Lease unused(pool_); }
  pool_.close_all();
  EXPECT_EQ(closed_.size(), 0U);
}

}  // namespace
}  // namespace dedupfs
