#include "replica/eviction/evicted_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

EvictedRecord sample_eviction() {
  EvictedRecord record;
  record.file.end_sum = 77;
  record.file.pieces = {{.epoch = 3, .sequence = 9, .bytes = 1 << 20, .sha256 = sha256_of(bytes_of(std::string("a")))},
                        {.epoch = 4, .sequence = 12, .bytes = 4096, .sha256 = sha256_of(bytes_of(std::string("b")))}};
  record.kept = {
      {.offset = 0, .length = 4096}, {.offset = 524288, .length = 8192}, {.offset = 1 << 20, .length = 4096}};
  return record;
}

TEST(EvictedRecord, IsReadAsItWasWritten) {
  const std::string bytes = encode_evicted_record(sample_eviction());

  const auto read = decode_evicted_record(bytes_of(bytes));

  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, sample_eviction());
}

TEST(EvictedRecord, EveryChangedByteIsFound) {
  const std::string bytes = encode_evicted_record(sample_eviction());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    EXPECT_FALSE(decode_evicted_record(bytes_of(changed))) << "byte " << i;
    EXPECT_FALSE(decode_evicted_record(bytes_of(bytes).first(i))) << "the first " << i;
  }
}

// With a checksum that is right.
TEST(EvictedRecord, RangesOutsideOfTheFileAreRefused) {
  for (const FileRange& range :
       {FileRange{.offset = (1 << 20) + 4096, .length = 1}, FileRange{.offset = 1 << 20, .length = 4097},
        FileRange{.offset = UINT64_MAX - 10, .length = 20}, FileRange{.offset = 5, .length = 0}}) {
    EvictedRecord record = sample_eviction();
    record.kept = {range};
    EXPECT_FALSE(decode_evicted_record(bytes_of(encode_evicted_record(record)))) << range.offset << ' ' << range.length;
  }
}

TEST(EvictedRecord, RangesAreJoinedInWholeBlocks) {
  EXPECT_THAT(
      joined_ranges({{.offset = 5000, .length = 100}, {.offset = 10, .length = 1}, {.offset = 20'000, .length = 0}},
                    1 << 20),
      ElementsAre(FileRange{.offset = 0, .length = 8192}));
  EXPECT_THAT(joined_ranges({{.offset = 9000, .length = 5000}}, 10'000),
              ElementsAre(FileRange{.offset = 8192, .length = 10'000 - 8192}));
  EXPECT_THAT(joined_ranges({{.offset = 20'000, .length = 5}}, 10'000), IsEmpty());
}

// Against a map of all bytes.
TEST(EvictedRecord, WhatIsKeptAndWhatLiesBetweenIsEverything) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t file_bytes = 1 + random() % 60'000;
    std::vector<FileRange> ranges(random() % 6);
    for (FileRange& range : ranges) range = {.offset = random() % 70'000, .length = random() % 9000};
    const auto kept = joined_ranges(ranges, file_bytes);
    const std::uint64_t begin = random() % file_bytes;
    const std::uint64_t end = begin + random() % (file_bytes - begin + 1);
    std::vector<int> seen(file_bytes);
    for (const FileRange& range : kept)
      for (std::uint64_t i = range.offset; i < range.end(); ++i) seen.at(i) = 1;
    for (const FileRange& range : ranges)
      for (std::uint64_t i = range.offset; i < std::min(range.end(), file_bytes); ++i) EXPECT_EQ(seen.at(i), 1);
    for (const FileRange& range : ranges_between(kept, begin, end))
      for (std::uint64_t i = range.offset; i < range.end(); ++i) EXPECT_EQ(seen.at(i)++, 0);
    for (std::uint64_t i = begin; i < end; ++i) EXPECT_EQ(seen[i], 1) << round << ": " << i;
  }
}

}  // namespace
}  // namespace dedupfs
