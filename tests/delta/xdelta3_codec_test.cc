#include "delta/xdelta3_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace dedupfs {
namespace {

using Seed = std::mt19937::result_type;

ByteBuffer random_bytes(std::size_t size, Seed seed) {
  std::mt19937 random(seed);
  ByteBuffer bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// `source` with a few bytes replaced, inserted or removed in every KiB, as a new version of a file has them.
ByteBuffer edited(const ByteBuffer& source, Seed seed) {
  std::mt19937 random(seed);
  ByteBuffer target;
  for (std::size_t at = 0; at < source.size(); at += 1024) {
    const std::size_t end = std::min(at + 1024, source.size());
    const std::size_t removed = random() % 20;
    const std::size_t inserted = random() % 20;
    const ByteBuffer fresh = random_bytes(inserted, random());
    target.insert(target.end(), fresh.begin(), fresh.end());
    target.insert(target.end(), source.begin() + static_cast<std::ptrdiff_t>(std::min(at + removed, end)),
                  source.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return target;
}

ByteBuffer encode(const ByteBuffer& source, const ByteBuffer& target) {
  ByteBuffer delta(target.size() + 64);
  const auto delta_bytes = Xdelta3Codec::encode(source, target, delta);
  EXPECT_TRUE(delta_bytes && *delta_bytes);
  delta.resize(delta_bytes && *delta_bytes ? **delta_bytes : 0);
  return delta;
}

TEST(Xdelta3Codec, RestoresWhatItEncoded) {
  for (const std::size_t size : {1UL, 2UL, 100UL, 4096UL, 8191UL, 16384UL, 65536UL, 300000UL}) {
    SCOPED_TRACE(size);
    const ByteBuffer source = random_bytes(size, 1);
    ByteBuffer target = edited(source, 2);
    if (target.empty()) target = source;

    const ByteBuffer delta = encode(source, target);
    ByteBuffer restored(target.size());
    auto decoded = Xdelta3Codec::decode(source, delta, restored);

    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(restored, target);
  }
}

TEST(Xdelta3Codec, TakesTheLargestSourceAndTarget) {
  const ByteBuffer source = random_bytes(Xdelta3Codec::kMaxSourceBytes, 3);
  const ByteBuffer target(source.end() - Xdelta3Codec::kMaxTargetBytes, source.end());

  const ByteBuffer delta = encode(source, target);
  ByteBuffer restored(target.size());

  ASSERT_TRUE(Xdelta3Codec::decode(source, delta, restored));
  EXPECT_EQ(restored, target);
  EXPECT_LT(delta.size(), 100U);
}

TEST(Xdelta3Codec, MakesSmallDeltasOfSmallChanges) {
  const ByteBuffer source = random_bytes(16384, 4);
  const ByteBuffer target = edited(source, 5);

  EXPECT_LT(encode(source, target).size(), target.size() / 20);
}

TEST(Xdelta3Codec, GivesNothingWhenTheDeltaIsLargerThanAllowed) {
  ByteBuffer delta(4096);

  const auto delta_bytes = Xdelta3Codec::encode(random_bytes(8192, 6), random_bytes(8192, 7), delta);

  ASSERT_TRUE(delta_bytes) << delta_bytes.error().message();
  EXPECT_FALSE(*delta_bytes);
}

TEST(Xdelta3Codec, RefusesSizesOutOfRange) {
  const ByteBuffer some(10);
  const ByteBuffer too_much(Xdelta3Codec::kMaxTargetBytes + 1);
  ByteBuffer delta(100);

  for (const auto& result :
       {Xdelta3Codec::encode({}, some, delta), Xdelta3Codec::encode(some, {}, delta),
        Xdelta3Codec::encode(some, too_much, delta), Xdelta3Codec::encode(some, some, delta, some.size())}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Xdelta3Codec, CallsATargetOfAnotherSizeCorruption) {
  const ByteBuffer source = random_bytes(8192, 8);
  const ByteBuffer target = edited(source, 9);
  const ByteBuffer delta = encode(source, target);

  for (const std::size_t size : {std::size_t{1}, target.size() - 1, target.size() + 1, 2 * target.size()}) {
    SCOPED_TRACE(size);
    ByteBuffer restored(size);
    auto decoded = Xdelta3Codec::decode(source, delta, restored);

    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  }
}

TEST(Xdelta3Codec, CallsAnotherSourceCorruptionWhenItIsTooShort) {
  const ByteBuffer source = random_bytes(8192, 10);
  const ByteBuffer delta = encode(source, source);
  ByteBuffer restored(source.size());

  auto decoded = Xdelta3Codec::decode(ByteSpan(source).first(4000), delta, restored);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
}

TEST(Xdelta3Codec, CallsEveryTruncatedDeltaCorruption) {
  const ByteBuffer source = random_bytes(4096, 11);
  const ByteBuffer target = edited(source, 12);
  const ByteBuffer delta = encode(source, target);
  ByteBuffer restored(target.size());

  for (std::size_t size = 0; size < delta.size(); ++size) {
    auto decoded = Xdelta3Codec::decode(source, ByteSpan(delta).first(size), restored);

    ASSERT_FALSE(decoded) << "cut after " << size << " bytes";
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  }
}

TEST(Xdelta3Codec, SurvivesMutatedDeltas) {
  const ByteBuffer source = random_bytes(4096, 13);
  const ByteBuffer target = edited(source, 14);
  const ByteBuffer delta = encode(source, target);
  // A frame around the output shows a write beyond it, also where no sanitizer watches.
  constexpr std::size_t kFrame = 4096;
  ByteBuffer framed(kFrame + target.size() + kFrame, 0xa5);
  const MutableByteSpan restored = MutableByteSpan(framed).subspan(kFrame, target.size());

  std::mt19937 random(15);
  for (int round = 0; round < 20000; ++round) {
    ByteBuffer mutated = delta;
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      mutated[random() % mutated.size()] = static_cast<std::uint8_t>(random());
    }
    auto decoded = Xdelta3Codec::decode(source, mutated, restored);

    ASSERT_TRUE(decoded || decoded.error().code() == ErrorCode::kCorruption) << decoded.error().message();
  }
  const auto untouched = [](std::uint8_t byte) { return byte == 0xa5; };
  EXPECT_TRUE(std::all_of(framed.begin(), framed.begin() + kFrame, untouched));
  EXPECT_TRUE(std::all_of(framed.end() - kFrame, framed.end(), untouched));
}

TEST(Xdelta3Codec, RefusesAHeaderThatAsksForGigabytes) {
  // VCDIFF magic, version 0, an application header (xdelta3's extension of RFC 3284) of nearly 4 GiB.
  const ByteBuffer delta = {0xd6, 0xc3, 0xc4, 0x00, 0x04, 0x8f, 0xff, 0xff, 0xff, 0x70, 0x00};
  const ByteBuffer source(10);
  ByteBuffer restored(10);

  auto decoded = Xdelta3Codec::decode(source, delta, restored);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption) << decoded.error().message();
}

TEST(Xdelta3Codec, ServesManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (Seed seed = 0; seed < 8; ++seed) {
    threads.emplace_back([seed] {
      const ByteBuffer source = random_bytes(8192, seed);
      const ByteBuffer target = edited(source, seed + 100);
      const ByteBuffer delta = encode(source, target);
      ByteBuffer restored(target.size());
      EXPECT_TRUE(Xdelta3Codec::decode(source, delta, restored));
      EXPECT_EQ(restored, target);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dedupfs
