// What a check, a repair and a mount do with containers, and with what an index says of them, that parse, have the right checksums,
// and lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <functional>

#include "codec/zstd_codec.h"
#include "fs/damaged_volume.h"
#include "mount/clients/reclaim_volume.h"
#include "store/chunks/chunk_index.h"
#include "store/format/file_frame.h"
#include "store/format/region.h"
#include "support/peak_memory.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::HasSubstr;

class HostileContainersTest : public testing::Test {
 protected:
  struct WholeRegion {
    std::vector<RegionEntry> entries;
    RawBuffer payload;

    std::string encode() const { return encode_region(entries, payload, Compression::none()); }
  };
  // Writes the first region of the first container anew.
  void change_first_region(const std::function<std::string(WholeRegion&)>& change) {
    std::string bytes = content_of(volume_.container(1));
    const ByteSpan region = bytes_of(bytes).subspan(kContainerHeaderBytes);
    const RegionHeader header = value_of(decode_region_header(region.first(kRegionHeaderBytes)));
    const ByteSpan directory = region.subspan(kRegionHeaderBytes, header.directory_length);
    const ByteSpan stored = region.subspan(kRegionHeaderBytes + directory.size(), header.stored_length);
    WholeRegion whole{value_of(decode_region_directory(header, directory)),
                      value_of(decode_region_payload(header, stored))};
    bytes.replace(kContainerHeaderBytes, header.disk_length(), change(whole));
    overwrite(volume_.container(1), bytes);
  }
  void expect_found_and_repairable() {
    EXPECT_NE(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
    volume_.fsck(FsckOptions::Mode::kAll);
    expect_sound();
  }
  void expect_sound() { EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0U); }
  void write_new_file(const std::string& content) {
    const auto filesystem = value_of(Filesystem::open(volume_.open(false), TestFilesystem::quiet()));
    const InodeNumber inode = value_of(filesystem->create(kRootInode, "new", 0644, {})).inode;
    EXPECT_TRUE(ok(filesystem->write(inode, 0, bytes_of(content), {}, nullptr)));
    filesystem->forget(inode, 1);
    EXPECT_TRUE(ok(filesystem->close()));
  }
  // Like a file whose chunks are in the first container, so that they would make good sources.
  static std::string like_the_first_file() {
    std::string content = DamagedVolume::tree_when_whole().entries.at("/folder/one").content;
    for (std::size_t at = 100; at < content.size(); at += 2000) content[at] = static_cast<char>(content[at] ^ 1);
    return content;
  }

  DamagedVolume volume_;
};

TEST_F(HostileContainersTest, AHeaderOfAnUnknownVersionIsWrittenAnew) {
  std::string bytes = content_of(volume_.container(1));
  bytes.replace(0, kContainerHeaderBytes, end_frame(begin_frame(kContainerMagic, 7)));
  overwrite(volume_.container(1), bytes);
  expect_found_and_repairable();
  EXPECT_EQ(volume_.tree().entries, DamagedVolume::tree_when_whole().entries);
}

TEST_F(HostileContainersTest, AFolderInThePlaceOfAContainerIsAContainerThatIsLost) {
  std::filesystem::remove(volume_.container(2));
  std::filesystem::create_directory(volume_.container(2));
  expect_found_and_repairable();
  EXPECT_FALSE(volume_.fsck(FsckOptions::Mode::kCheck).lost_files.empty());
  ASSERT_TRUE(
      ok(reclaim_volume(volume_.path(), ReclaimGoal::kFreeSpace, false, [](const ReclaimStatus&) { return true; })));
  expect_sound();
}

TEST_F(HostileContainersTest, ARegionThatIsLostMayHaveAnotherLengthThanTheOldIndexSays) {
  change_first_region([](WholeRegion& region) {
    region.entries.pop_back();  // now they do not fill the payload, and the directory is shorter
    return region.encode();
  });
  expect_found_and_repairable();
}

TEST_F(HostileContainersTest, APayloadThatIsNoneAndHasTheRightChecksumIsRepaired) {
  change_first_region([](WholeRegion& region) {
    std::string bytes = region.encode();
    constexpr std::size_t kEncodingAt = 10;
    constexpr std::size_t kChecksumAt = kRegionHeaderBytes - 8;
    bytes[kEncodingAt] = static_cast<char>(zstd_codec().info().encoding);
    std::string checksum;
    Encoder(checksum).u64(XXH3_64bits(bytes.data(), kChecksumAt));
    return bytes.replace(kChecksumAt, checksum.size(), checksum);
  });
  expect_found_and_repairable();
}

TEST_F(HostileContainersTest, OfChunksWithFalseFingerprintsNothingIsMadeOnceTheyAreKnown) {
  change_first_region([](WholeRegion& region) {
    for (RegionEntry& entry : region.entries) entry.fingerprint.bytes[7] ^= 1;
    return region.encode();
  });
  expect_found_and_repairable();
  write_new_file(like_the_first_file());
  expect_sound();
  EXPECT_TRUE(volume_.tree().entries.at("/new").content == like_the_first_file());
}

// Whoever writes into a volume that nobody has checked loses nothing of it by the repair.
TEST_F(HostileContainersTest, WhatWasMadeFromChunksWithFalseFingerprintsIsNotGivenUp) {
  change_first_region([](WholeRegion& region) {
    for (RegionEntry& entry : region.entries) entry.fingerprint.bytes[7] ^= 1;
    return region.encode();
  });
  write_new_file(like_the_first_file());
  expect_found_and_repairable();
  for (const LostFile& lost : volume_.fsck(FsckOptions::Mode::kCheck).lost_files)
    EXPECT_THAT(lost.paths, testing::Not(Contains("/new")));
  EXPECT_TRUE(volume_.tree().entries.at("/new").content == like_the_first_file());
}

// A record of some hundred bytes, compressed, claims 65,536 chunks: in a container that is gone, or in one that never was.
TEST_F(HostileContainersTest, ChunksThatAreOnlyClaimedTakeLittleMemoryAndTime) {
  constexpr std::uint64_t kExtents = 40;
  std::filesystem::remove(volume_.container(2));
  {
    const auto volume = volume_.open(false);
    Database::Batch batch(volume->database());
    for (std::uint64_t i = 0; i < kExtents; ++i) {
      const ChunkExtent extent{.first = ChunkId{1'000'000 + i * kMaxChunksPerExtent},
                               .place = {.container = i % 2 == 0 ? 2 : static_cast<std::uint32_t>(5000 + i),
                                         .offset = static_cast<std::uint32_t>(64 + i)},
                               .region_disk_bytes = 1000,
                               .region_payload_bytes = 1000,
                               .chunks = std::vector<ChunkExtent::Chunk>(kMaxChunksPerExtent, {.raw_length = 1})};
      batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
    }
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  const PeakMemory memory;
  const FsckReport found = volume_.fsck(FsckOptions::Mode::kCheck);
  EXPECT_THAT(found.lines, Contains(HasSubstr("more chunks than all containers can hold")));
  expect_found_and_repairable();
  if (!kSanitized) {
    EXPECT_LT(memory.growth_bytes(), std::uint64_t{400} << 20);
  }
}

}  // namespace
}  // namespace dedupfs
