#include "fs/content/dirty_map.h"
#include "support/sanitized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kEverything = std::numeric_limits<std::int64_t>::max();

// "3:abc" is data at offset 3, "6:---" a hole of three bytes at offset 6.
std::vector<std::string> contents(const DirtyMap& map, std::uint64_t from = 0, std::uint64_t to = kEverything) {
  std::vector<std::string> found;
  for (const DirtyMap::Extent& extent : map.list(from, to)) {
    const std::string text = extent.is_hole() ? std::string(extent.length, '-') : std::string(text_of(extent.bytes));
    found.push_back(std::to_string(extent.offset) + ":" + text);
  }
  return found;
}

TEST(DirtyMap, NewMapIsEmpty) {
  const DirtyMap map;

  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.end(), 0u);
  EXPECT_EQ(map.memory_bytes(), 0u);
  EXPECT_FALSE(map.find_from(0));
}

TEST(DirtyMap, WriteAtTheEndOfAStretchJoinsIt) {
  DirtyMap map;
  map.write(3, bytes_of("abc"));
  map.write(6, bytes_of("de"));

  EXPECT_THAT(contents(map), ElementsAre("3:abcde"));
  EXPECT_EQ(map.end(), 8u);
  EXPECT_EQ(map.data_bytes(), 5u);
}

TEST(DirtyMap, RunOfSmallWritesMakesFewStretches) {
  DirtyMap map;
  const ByteBuffer page(4096, 7);
  for (std::uint64_t i = 0; i < 1024; ++i) map.write(i * page.size(), page);

  EXPECT_EQ(map.list(0, kEverything).size(), 4u);
  EXPECT_EQ(map.data_bytes(), 4u << 20);
}

TEST(DirtyMap, LaterWriteWins) {
  DirtyMap map;
  map.write(0, bytes_of("aaaaaa"));
  map.write(2, bytes_of("bb"));
  map.write(5, bytes_of("cc"));

  EXPECT_THAT(contents(map), ElementsAre("0:aabbacc"));
  EXPECT_EQ(map.data_bytes(), 7u);
}

TEST(DirtyMap, WriteBeforeAStretchOverwritesItsFront) {
  DirtyMap map;
  map.write(4, bytes_of("aaaa"));
  map.write(2, bytes_of("bbb"));

  EXPECT_THAT(contents(map), ElementsAre("2:bb", "4:baaa"));
}

TEST(DirtyMap, HolesAndDataReplaceEachOther) {
  DirtyMap map;
  map.write(0, bytes_of("aaaaaa"));
  map.punch(2, 2);
  EXPECT_THAT(contents(map), ElementsAre("0:aa", "2:--", "4:aa"));
  EXPECT_EQ(map.data_bytes(), 4u);

  map.write(3, bytes_of("b"));
  EXPECT_THAT(contents(map), ElementsAre("0:aa", "2:-", "3:b", "4:aa"));
}

TEST(DirtyMap, AdjacentHolesJoin) {
  DirtyMap map;
  map.punch(0, 2);
  map.punch(4, 2);
  map.punch(2, 2);

  EXPECT_THAT(contents(map), ElementsAre("0:------"));
}

TEST(DirtyMap, ErasedStretchIsForgotten) {
  DirtyMap map;
  map.write(0, bytes_of("abcdef"));
  map.erase(2, 2);
  EXPECT_THAT(contents(map), ElementsAre("0:ab", "4:ef"));

  map.truncate(1);
  EXPECT_THAT(contents(map), ElementsAre("0:a"));
  map.clear();
  EXPECT_THAT(contents(map), IsEmpty());
}

TEST(DirtyMap, ListIsClipped) {
  DirtyMap map;
  map.write(0, bytes_of("abcdef"));
  map.punch(10, 5);

  EXPECT_THAT(contents(map, 2, 12), ElementsAre("2:cdef", "10:--"));
  EXPECT_THAT(contents(map, 6, 10), IsEmpty());
  EXPECT_EQ(text_of(map.find_from(4)->bytes), "ef");
  EXPECT_EQ(map.find_from(6)->offset, 10u);
}

// Against one value a byte.
class DirtyMapModel {
 public:
  static constexpr int kUntouched = -2;
  static constexpr int kHole = -1;

  void set(std::uint64_t offset, std::uint64_t length, int value) {
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(offset), length, value);
  }
  void write(std::uint64_t offset, ByteSpan bytes) {
    std::ranges::copy(bytes, values_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  std::vector<int> values(std::uint64_t from, std::uint64_t to) const {
    return {values_.begin() + static_cast<std::ptrdiff_t>(from), values_.begin() + static_cast<std::ptrdiff_t>(to)};
  }
  std::uint64_t data_bytes() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(values_, [](int value) { return value >= 0; }));
  }
  std::uint64_t end() const {
    std::uint64_t end = values_.size();
    while (end > 0 && values_[end - 1] == kUntouched) --end;
    return end;
  }

 private:
  std::vector<int> values_ = std::vector<int>(4000, kUntouched);
};

std::vector<int> values(const DirtyMap& map, std::uint64_t from, std::uint64_t to) {
  std::vector<int> found(to - from, DirtyMapModel::kUntouched);
  std::uint64_t last_end = from;
  for (const DirtyMap::Extent& extent : map.list(from, to)) {
    EXPECT_GE(extent.offset, last_end);
    EXPECT_GT(extent.length, 0u);
    EXPECT_LE(extent.end(), to);
    last_end = extent.end();
    for (std::uint64_t i = 0; i < extent.length; ++i) {
      found[extent.offset + i - from] = extent.is_hole() ? DirtyMapModel::kHole : extent.bytes[i];
    }
  }
  return found;
}

// A budget once counted one byte for each of these.
TEST(DirtyMap, CountsWhatStretchesTakeBesideTheirBytes) {
  DirtyMap map;
  for (std::uint64_t i = 0; i < 1000; ++i) map.write(5000 * i, bytes_of("x"));
  EXPECT_GE(map.memory_bytes(), 1000 * DirtyMap::kExtentNodeBytes);
  EXPECT_EQ(map.data_bytes(), 1000U);

  for (std::uint64_t i = 0; i < 1000; ++i) map.punch(5000 * i + 2000, 100);
  EXPECT_GE(map.memory_bytes(), 2000 * DirtyMap::kExtentNodeBytes);

  map.erase(0, 5000 * 1000);
  EXPECT_EQ(map.memory_bytes(), 0U);
}

TEST(DirtyMap, MemoryOfBytesThatAreTakenOffComesBack) {
  DirtyMap map;
  map.write(0, ByteBuffer(1 << 20, 1));

  map.erase(0, (1 << 20) - 100);
  EXPECT_LE(map.memory_bytes(), 4096U);

  map.write(0, ByteBuffer(1 << 19, 1));
  map.truncate(100);
  EXPECT_LE(map.memory_bytes(), 4096U);
}

TEST(DirtyMap, BehavesAsAnArrayOfBytesDoes) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  DirtyMap map;
  DirtyMapModel model;
  for (int step = 0; step < (kSanitized ? 10'000 : 50'000); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const std::uint64_t offset = random() % 3000;
    const std::uint64_t length = random() % (random() % 4 == 0 ? 1000 : 20);
    switch (random() % 20) {
      case 0:
      case 1:
        map.punch(offset, length);
        model.set(offset, length, DirtyMapModel::kHole);
        break;
      case 2:
      case 3:
        map.erase(offset, length);
        model.set(offset, length, DirtyMapModel::kUntouched);
        break;
      case 4:
        map.truncate(offset);
        model.set(offset, 4000 - offset, DirtyMapModel::kUntouched);
        break;
      default: {
        ByteBuffer bytes(length);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        map.write(offset, bytes);
        model.write(offset, bytes);
      }
    }
    const std::uint64_t from = random() % 2 * offset;
    ASSERT_EQ(values(map, from, 4000), model.values(from, 4000));
    ASSERT_EQ(values(map, offset, offset + length), model.values(offset, offset + length));
    ASSERT_EQ(map.data_bytes(), model.data_bytes());
    ASSERT_GE(map.memory_bytes(), map.data_bytes());
    ASSERT_EQ(map.end(), model.end());
    ASSERT_EQ(map.empty(), model.end() == 0);
  }
}

}  // namespace
}  // namespace dedupfs
