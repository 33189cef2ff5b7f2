#include "store/ingest/stream_order.h"

#include <gtest/gtest.h>

#include <thread>

namespace dedupfs {
namespace {

TEST(StreamOrder, OfUnknownChunksTheNumbersAreTheOrder) {
  const StreamOrder order;

  EXPECT_EQ(order.after(ChunkId{10}), ChunkId{11});
  EXPECT_EQ(order.before(ChunkId{10}), ChunkId{9});
}

TEST(StreamOrder, KnowsWhatFollowedWhat) {
  StreamOrder order;

  order.link(ChunkId{10}, ChunkId{500});
  order.link(ChunkId{500}, ChunkId{20});

  EXPECT_EQ(order.after(ChunkId{10}), ChunkId{500});
  EXPECT_EQ(order.before(ChunkId{500}), ChunkId{10});
  EXPECT_EQ(order.after(ChunkId{500}), ChunkId{20});
  EXPECT_EQ(order.before(ChunkId{20}), ChunkId{500});
  EXPECT_EQ(order.before(ChunkId{10}), ChunkId{9});
  EXPECT_EQ(order.after(ChunkId{20}), ChunkId{21});
}

TEST(StreamOrder, NewestStreamCounts) {
  StreamOrder order;

  order.link(ChunkId{10}, ChunkId{11});
  order.link(ChunkId{10}, ChunkId{50});

  EXPECT_EQ(order.after(ChunkId{10}), ChunkId{50});
  EXPECT_EQ(order.before(ChunkId{11}), ChunkId{10});
}

// Its memory is bounded, so older chunks make room; what it says of them then is what it says of unknown ones.
TEST(StreamOrder, ForgetsTheOldestInFavourOfTheNewest) {
  StreamOrder order;
  constexpr std::uint64_t kMany = 1'000'000;
  order.link(ChunkId{10}, ChunkId{500});

  for (std::uint64_t id = 1000; id < kMany; ++id) order.link(ChunkId{id}, ChunkId{id + 1});
  order.link(ChunkId{kMany}, ChunkId{70});

  EXPECT_EQ(order.after(ChunkId{10}), ChunkId{11});
  EXPECT_EQ(order.after(ChunkId{kMany}), ChunkId{70});
  EXPECT_EQ(order.before(ChunkId{kMany}), ChunkId{kMany - 1});
}

TEST(StreamOrder, ServesManyThreads) {
  StreamOrder order;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&order, thread] {
      for (std::uint64_t i = 1; i < 20'000; ++i) {
        order.link(ChunkId{i}, ChunkId{i + thread * 100'000});
        EXPECT_NE(order.after(ChunkId{i}), ChunkId{});
        EXPECT_NE(order.before(ChunkId{i + 1}), ChunkId{});
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dedupfs
