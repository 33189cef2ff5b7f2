// Reading regions from a backend: how many reads it takes, and what comes of lengths and bytes that are wrong. Walks and scans are
// tested in container_store_test.cc and container_scan_test.cc.
#include "store/containers/container_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "memory_containers.h"
#include "sample_region.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr UuidBytes kReadVolume{1, 2, 3};
constexpr std::size_t kLongestRegion = kRegionHeaderBytes + kMaxRegionDirectoryBytes + kMaxRegionPayloadBytes;

class ContainerReaderTest : public testing::Test {
 protected:
  // Container 1 has `sample` at the place that comes back, between two other regions.
  RegionRange put(const SampleRegion& sample) {
    const std::string region = sample.encode();
    std::string bytes = encode_container_header({1, kReadVolume}) + one_chunk(1000, 500).encode();
    const auto offset = static_cast<std::uint32_t>(bytes.size());
    bytes_ = bytes + region + one_chunk(1001, 50'000).encode();
    containers_.put(1, bytes_);
    return {{1, offset}, static_cast<std::uint32_t>(region.size())};
  }
  // So that the container's header has been looked at.
  void warm_up(ContainerReader& reader) {
    ASSERT_TRUE(reader.read_header({1, kContainerHeaderBytes}));
    (void)containers_.take_reads();
  }

  static void expect_is(const Result<std::shared_ptr<const Region>>& read, const SampleRegion& sample) {
    ASSERT_TRUE(read) << read.error().message();
    const Region& region = **read;
    EXPECT_EQ(text_of(region.whole_payload()), text_of(sample.payload));
    ASSERT_EQ(region.entries.size(), sample.entries.size());
    for (const RegionEntry& entry : sample.entries) {
      const RegionEntry* const found = region.find(entry.id);
      ASSERT_TRUE(found != nullptr);
      EXPECT_EQ(*found, entry);
      EXPECT_EQ(text_of(region.payload_of(*found)),
                text_of(ByteSpan(sample.payload).subspan(entry.payload_offset, entry.payload_length)));
    }
  }
  void expect_damage(const Result<std::shared_ptr<const Region>>& read, const std::string& reason) {
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(read.error().message(), HasSubstr(containers_.name_of(1) + ", region at offset"));
    EXPECT_THAT(read.error().message(), HasSubstr(reason));
  }

  static std::vector<SampleRegion> samples() {
    SampleRegion long_directory;
    for (std::uint64_t id = 100; id < 2000; ++id) long_directory.add(id, random_bytes(50, id));
    return {SampleRegion().add(3, text_bytes(10)).add(1, text_bytes(20)).add_delta(2, 1, 30, text_bytes(9)),
            SampleRegion().add(5, text_bytes(300'000)), one_chunk(6, 10), one_chunk(6, 300'000), long_directory};
  }

  MemoryContainers containers_;
  std::string bytes_;  // of container 1
};

TEST_F(ContainerReaderTest, ARegionOfKnownLengthIsOneRead) {
  for (const SampleRegion& sample : samples()) {
    const RegionRange range = put(sample);
    ContainerReader reader(containers_, kReadVolume);
    warm_up(reader);

    expect_is(reader.read(range), sample);

    EXPECT_THAT(containers_.take_reads(), ElementsAre(MemoryContainers::Read{1, range.place.offset, range.disk_bytes}));
    ASSERT_TRUE(reader.verify(range));
    EXPECT_THAT(containers_.take_reads(), SizeIs(1));
  }
}

TEST_F(ContainerReaderTest, ARegionOfUnknownLengthIsTwoReadsAtMost) {
  for (const SampleRegion& sample : samples()) {
    const RegionRange range = put(sample);
    ContainerReader reader(containers_, kReadVolume);
    warm_up(reader);

    expect_is(reader.read({range.place}), sample);

    EXPECT_LE(containers_.take_reads().size(), sample.entries.size() > 1000 ? 3u : 2u) << "a long directory takes one";
  }
}

TEST_F(ContainerReaderTest, ARawPayloadStaysWhereItWasRead) {
  const auto sample = one_chunk(6, 300'000);
  const RegionRange range = put(sample);
  ContainerReader reader(containers_, kReadVolume);

  const auto region = reader.read(range);

  ASSERT_TRUE(region);
  EXPECT_EQ((*region)->payload.size(), range.disk_bytes);
  EXPECT_EQ((*region)->payload_begin, range.disk_bytes - 300'000);
}

TEST_F(ContainerReaderTest, AnyLengthMayBeWrong) {
  for (const SampleRegion& sample : samples()) {
    const RegionRange range = put(sample);
    ContainerReader reader(containers_, kReadVolume);
    for (const std::uint32_t disk_bytes :
         {1u, 63u, 64u, 65u, 200u, range.disk_bytes / 2, range.disk_bytes - 1, range.disk_bytes + 1,
          range.disk_bytes + 20'000, std::numeric_limits<std::uint32_t>::max()}) {
      expect_is(reader.read({range.place, disk_bytes}), sample);
      EXPECT_TRUE(reader.verify({range.place, disk_bytes})) << disk_bytes;
    }
    for (const auto& read : containers_.take_reads()) EXPECT_LE(read.length, kLongestRegion);
  }
}

// Else a volume that says so could keep more in memory than the region. It may be the last of its container, too.
TEST_F(ContainerReaderTest, WhatWasReadBehindARawRegionIsNotKept) {
  const RegionRange range = put(one_chunk(6, 1000));
  for (const std::size_t size : {bytes_.size(), std::size_t{range.place.offset + range.disk_bytes}}) {
    containers_.put(1, bytes_.substr(0, size));
    ContainerReader reader(containers_, kReadVolume);

    const auto region = reader.read({range.place, std::numeric_limits<std::uint32_t>::max()});

    ASSERT_TRUE(region);
    EXPECT_EQ((*region)->payload.capacity(), 1000u);
  }
}

TEST_F(ContainerReaderTest, DamageIsFoundWhateverTheLengthSays) {
  for (const SampleRegion& sample : {one_chunk(6, 5000), SampleRegion().add(5, text_bytes(300'000))}) {
    const RegionRange range = put(sample);
    const std::string whole = bytes_;
    const std::uint32_t end = range.place.offset + range.disk_bytes;
    for (const std::uint32_t at : {range.place.offset + 3, range.place.offset + 70, end - 1}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      containers_.put(1, damaged);
      ContainerReader reader(containers_, kReadVolume);
      for (const std::uint32_t disk_bytes : {0u, range.disk_bytes, range.disk_bytes + 100}) {
        expect_damage(reader.read({range.place, disk_bytes}), "");
        EXPECT_FALSE(reader.verify({range.place, disk_bytes}));
      }
    }
  }
}

TEST_F(ContainerReaderTest, ARegionThatTheContainerDoesNotHoldToItsEndIsDamaged) {
  const RegionRange range = put(one_chunk(6, 20'000));
  const std::size_t end = range.place.offset + range.disk_bytes;
  for (const std::size_t size : {end - 1, end - 10'000, range.place.offset + kRegionHeaderBytes}) {
    containers_.put(1, bytes_.substr(0, size));
    ContainerReader reader(containers_, kReadVolume);
    const std::string reason = "the container ends within it, at " + std::to_string(size);
    for (const std::uint32_t disk_bytes : {0u, range.disk_bytes, range.disk_bytes + 100})
      expect_damage(reader.read({range.place, disk_bytes}), reason);
    EXPECT_FALSE(reader.read_header(range.place));
    EXPECT_FALSE(reader.read_directory(range.place));
  }
  containers_.put(1, bytes_.substr(0, range.place.offset + kRegionHeaderBytes - 1));
  ContainerReader reader(containers_, kReadVolume);
  expect_damage(reader.read(range), "it is outside of the container, which has ");
}

TEST_F(ContainerReaderTest, HeaderAndDirectoryAreReadAlone) {
  const RegionRange range = put(one_chunk(6, 300'000));
  ContainerReader reader(containers_, kReadVolume);
  warm_up(reader);

  EXPECT_EQ(reader.read_header(range.place)->disk_length(), range.disk_bytes);
  EXPECT_THAT(*reader.read_directory(range.place), SizeIs(1));

  for (const auto& read : containers_.take_reads()) EXPECT_LE(read.length, 16u << 10);
}

TEST_F(ContainerReaderTest, TheHeaderOfAContainerIsLookedAtOnce) {
  const RegionRange range = put(one_chunk(6, 1000));
  ContainerReader reader(containers_, kReadVolume);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.read(range));

  const auto reads = containers_.take_reads();

  ASSERT_THAT(reads, SizeIs(1 + 3));
  EXPECT_EQ(reads.front(), (MemoryContainers::Read{1, 0, kContainerHeaderBytes}));
}

TEST_F(ContainerReaderTest, AContainerOfAnotherVolumeIsRefusedEachTime) {
  const RegionRange range = put(one_chunk(6, 1000));
  ContainerReader reader(containers_, UuidBytes{9});

  for (int i = 0; i < 2; ++i) {
    expect_damage(reader.read(range), "another volume");
    EXPECT_FALSE(reader.walk(1));
    EXPECT_FALSE(reader.scan(1, {}, [](RegionPlace, const RegionHeader&) { return Result<void>(); }));
  }
}

TEST_F(ContainerReaderTest, AContainerThatIsMissingIsDamageToThoseWhoWereLedToIt) {
  const RegionRange range = put(one_chunk(6, 1000));
  ContainerReader reader(containers_, kReadVolume);
  ASSERT_TRUE(reader.read(range));
  ASSERT_TRUE(containers_.remove(1));

  expect_damage(reader.read(range), "the container is missing");
  EXPECT_EQ(reader.inspect(1).error().code(), ErrorCode::kNotFound) << "not to those who go by the list";
}

TEST_F(ContainerReaderTest, AnErrorOfTheBackendIsNotKept) {
  const auto sample = one_chunk(6, 1000);
  const RegionRange range = put(sample);
  ContainerReader reader(containers_, kReadVolume);
  int failures = 2;  // of the container's header, then of the region
  containers_.fault = [&](const MemoryContainers::Read& read) -> std::optional<Error> {
    if (failures == 0 || (failures == 1) != (read.offset != 0)) return std::nullopt;
    --failures;
    return Error{ErrorCode::kIo, "the line is dead"};
  };

  for (int i = 0; i < 2; ++i) {
    const auto failed = reader.read(range);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), ErrorCode::kIo);
    EXPECT_THAT(failed.error().message(), HasSubstr("the line is dead"));
  }
  expect_is(reader.read(range), sample);
}

}  // namespace
}  // namespace dedupfs
