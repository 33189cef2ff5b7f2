#include "store/ingest/fingerprint_cache.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

RegionEntry entry(std::uint8_t number) {
  RegionEntry entry;
  entry.id = ChunkId{number};
  entry.fingerprint.bytes.fill(number);
  return entry;
}

TEST(FingerprintCache, FindsWhatWasPutIn) {
  FingerprintCache cache(10);
  cache.insert({entry(1), entry(2)});

  EXPECT_EQ(cache.find(entry(1).fingerprint), ChunkId{1});
  EXPECT_EQ(cache.find(entry(2).fingerprint), ChunkId{2});
  EXPECT_EQ(cache.find(entry(3).fingerprint), std::nullopt);
}

TEST(FingerprintCache, WhatIsAskedForStaysLongerThanWhatIsNot) {
  FingerprintCache cache(4);
  cache.insert({entry(1), entry(2)});
  for (std::uint8_t number = 10; number < 30; ++number) {
    cache.insert({entry(number)});
    EXPECT_EQ(cache.find(entry(1).fingerprint), ChunkId{1});
  }
  EXPECT_EQ(cache.find(entry(2).fingerprint), std::nullopt);
}

TEST(FingerprintCache, ForgetsBothGenerations) {
  FingerprintCache cache(4);
  for (std::uint8_t number = 1; number <= 6; ++number) cache.insert({entry(number)});
  ASSERT_EQ(cache.find(entry(1).fingerprint), ChunkId{1});

  cache.clear();

  for (std::uint8_t number = 1; number <= 6; ++number) EXPECT_EQ(cache.find(entry(number).fingerprint), std::nullopt);
  cache.insert({entry(1)});
  EXPECT_EQ(cache.find(entry(1).fingerprint), ChunkId{1});
}

}  // namespace
}  // namespace dedupfs
