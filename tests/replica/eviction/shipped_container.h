// A container of a plain volume in a bucket, in two pieces: regions of different sizes and a gap, for the tests of what a clone fetches of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../fake_image.h"
#include "chunkers/test_data.h"
#include "replica/eviction/evicted_record.h"
#include "store/format/container_format.h"
#include "store/format/format.h"
#include "store/format/region.h"
#include "support/memory_bucket.h"

namespace dedupfs {

class ShippedContainer {
 public:
  ShippedContainer() {
    content_ = encode_container_header({.number = 1});
    for (int i = 0; i < 12; ++i) add_region(300'000, 10);
    add_region(700'000, 600);  // of which the directory is long
    for (int i = 0; i < 20; ++i) add_region(3'000, 1);
    content_ += encode_gap_header(200'000) + std::string(200'000 - kRegionHeaderBytes, '\0');
    for (int i = 0; i < 3; ++i) add_region(400'000, 10);
    content_ += encode_container_trailer(
        {.number = 1, .regions = directories_.size(), .length = content_.size() + kContainerTrailerBytes});
  }
  // Of the content as it is then. Once.
  void ship() {
    RemotePosition position = Shipper::attach(bucket_, "test").value();
    Shipper shipper(
        bucket_, position,
        {.volume = kImageUuid, .save = [](const RemotePosition&) { return Result<void>(); }, .piece_bytes = 3 << 20});
    FakeImage image(Files{{std::string(kContainersDirectory) + '/' + name(), content_}});
    EXPECT_TRUE(shipper.ship(image));
    files_ = shipper.replica()->files;
    bucket_.set_hook([this](const MemoryBucket::Call& call, MemoryBucket::When when) {
      if (call.operation == MemoryBucket::Operation::kRead && when == MemoryBucket::When::kBefore) ++reads_;
    });
  }

  static std::string name() { return container_name(1); }
  std::string& content() { return content_; }
  // Headers of regions with their directories.
  const std::vector<FileRange>& directories() const { return directories_; }
  MemoryBucket& bucket() { return bucket_; }
  const RemoteFiles& files() const { return files_; }
  const RemoteFile& file() const { return files_.begin()->second; }
  std::uint64_t reads() const { return reads_; }

 private:
  void add_region(std::size_t bytes, std::uint32_t chunks) {
    const ByteBuffer payload = random_bytes(bytes, content_.size());
    std::vector<RegionEntry> entries(chunks);
    for (std::uint32_t i = 0; i < chunks; ++i) {
      entries[i].id = ChunkId{content_.size() + i + 1};
      entries[i].payload_length = static_cast<std::uint32_t>(bytes / chunks + (i == 0 ? bytes % chunks : 0));
      entries[i].raw_length = entries[i].payload_length;
    }
    const std::string region = encode_region(entries, payload, {});
    const auto header = decode_region_header(bytes_of(region).first(kRegionHeaderBytes)).value();
    directories_.push_back({.offset = content_.size(), .length = kRegionHeaderBytes + header.directory_length});
    content_ += region;
  }

  std::string content_;
  std::vector<FileRange> directories_;
  MemoryBucket bucket_;
  RemoteFiles files_;
  std::uint64_t reads_ = 0;
};

}  // namespace dedupfs
