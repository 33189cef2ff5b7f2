#include "index/sealed_manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/crash_replay.h"
#include "support/memory_disk.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;
const Path kManifest = "/MANIFEST-000001";

// What RocksDB's writer appends for records of such lengths behind `size` bytes: full records, or first, middle and last ones.
Bytes records(std::uint64_t size, const std::vector<std::size_t>& lengths, std::mt19937_64& random) {
  Bytes bytes;
  for (std::size_t left : lengths) {
    for (bool first = true; first || left != 0; first = false) {
      const std::size_t in_block = kBlockBytes - (size + bytes.size()) % kBlockBytes;
      if (in_block < kHeaderBytes) bytes.resize(bytes.size() + in_block);
      const std::size_t room = in_block < kHeaderBytes ? kBlockBytes : in_block;
      const std::size_t length = std::min(left, room - kHeaderBytes);
      left -= length;
      for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(random()));
      bytes.push_back(static_cast<std::uint8_t>(length));
      bytes.push_back(static_cast<std::uint8_t>(length >> 8));
      bytes.push_back(first && left == 0 ? 1 : first ? 2 : left != 0 ? 3 : 4);
      for (std::size_t i = 0; i < length; ++i) bytes.push_back(static_cast<std::uint8_t>(random()));
    }
  }
  return bytes;
}

Bytes sealed_content(const DiskImage& image) {
  MemoryDisk disk(image);
  const auto file = disk.open(kManifest, Backing::Mode::kRead).value();
  Bytes content(sealed_end(*file).value());
  EXPECT_TRUE(file->read(0, content));
  return content;
}

// Zeros that fill up a block are no record.
bool is_version(Bytes found, const Bytes& version) {
  if (found.size() % kBlockBytes == 0 && found.size() >= version.size() &&
      found.size() - version.size() < kHeaderBytes &&
      std::all_of(found.begin() + static_cast<std::ptrdiff_t>(version.size()), found.end(),
                  [](std::uint8_t byte) { return byte == 0; }))
    found.resize(version.size());
  return found == version;
}

TEST(SealedManifest, IsAfterAnyPowerCutWhatItWasBeforeOrAfterASync) {
  std::mt19937_64 random(1);
  MemoryDisk disk;
  const auto file = disk.open(kManifest, Backing::Mode::kCreate).value();
  ASSERT_TRUE(disk.sync_directory("/"));
  struct Version {
    std::size_t events;  // of the disk, when it was durable
    Bytes content;
  };
  std::vector<Version> versions{{disk.event_count(), {}}};
  SealedManifest manifest(*file, 0);
  for (int i = 0; i < 60; ++i) {
    std::vector<std::size_t> lengths(1 + random() % 4);
    for (std::size_t& length : lengths) length = random() % (random() % 8 == 0 ? 70'000 : 1500);
    Bytes content = versions.back().content;
    if (i % 5 == 4)
      lengths = {kBlockBytes - content.size() % kBlockBytes + 700 - random() % 20};  // over the end of a block
    if (i % 5 == 3) {                                                                // up to a few bytes before it
      const std::size_t left = kBlockBytes - content.size() % kBlockBytes;
      if (left > 40) lengths = {left - kHeaderBytes - random() % 8};
    }
    const Bytes added = records(content.size(), lengths, random);
    manifest.append(added);
    ASSERT_TRUE(manifest.sync());
    content.insert(content.end(), added.begin(), added.end());
    ASSERT_EQ(manifest.size(), content.size());
    versions.push_back({disk.event_count(), std::move(content)});
  }
  ASSERT_EQ(sealed_content(disk.image()), versions.back().content);

  const std::vector<DiskEvent> events = disk.events();
  CrashReplay replay(DiskImage(), events);
  std::size_t version = 0;
  constexpr std::size_t kStep = kSanitized ? 7 : 1;
  for (std::size_t position = versions.front().events; position <= events.size(); position += kStep) {
    replay.go_to(position);
    while (version + 1 < versions.size() && versions[version + 1].events <= position) ++version;
    for (std::uint64_t variation = 0; variation < replay.exact_variations() + 20; ++variation) {
      const Bytes found = sealed_content(replay.state(variation, position * 100 + variation));
      const bool is_after = version + 1 < versions.size() && is_version(found, versions[version + 1].content);
      ASSERT_TRUE(is_version(found, versions[version].content) || is_after)
          << "event " << position << ", variation " << variation << ": " << found.size() << " bytes";
    }
  }
}

TEST(SealedManifest, CanBeSyncedAgainAfterAFailure) {
  std::mt19937_64 random(2);
  MemoryDisk disk;
  const auto file = disk.open(kManifest, Backing::Mode::kCreate).value();
  SealedManifest manifest(*file, 0);
  const Bytes added = records(0, {100, 200}, random);
  manifest.append(added);
  for (const char* const operation : {"write", "datasync"}) {
    disk.set_fault([&](std::string_view called, const Path&) -> std::optional<MemoryDisk::Fault> {
      if (called != operation) return std::nullopt;
      return MemoryDisk::Fault{Error{ErrorCode::kNoSpace, "full"}, 50};
    });
    EXPECT_FALSE(manifest.sync());
    disk.set_fault(nullptr);
    EXPECT_EQ(sealed_content(disk.image()), Bytes());
  }
  ASSERT_TRUE(manifest.sync());
  EXPECT_EQ(sealed_content(disk.image()), added);
}

TEST(SealedManifest, EndsWithTheFileWhereThatIsCutOffOrDamaged) {
  std::mt19937_64 random(3);
  const Bytes whole = records(0, {100, 200, 50'000}, random);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{3}, std::size_t{150}, std::size_t{40'000}, whole.size()}) {
    Bytes damaged(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    if (length > 120) damaged[111] = damaged[112] = 0xff;  // the length of the second record
    MemoryDisk disk;
    const auto file = disk.open(kManifest, Backing::Mode::kCreate).value();
    ASSERT_TRUE(file->write(0, damaged));
    EXPECT_EQ(sealed_content(disk.image()), damaged);
  }
}

}  // namespace
}  // namespace dedupfs
