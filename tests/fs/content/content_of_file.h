// The content of a file on a new volume, and short forms of what tests do with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "fs/content/file_content.h"
#include "fs/content/recipe.h"
#include "support/faulty_backing.h"
#include "support/temp_dir.h"

namespace dedupfs {

inline ByteBuffer noise_bytes(std::size_t size, std::mt19937_64& random) {
  ByteBuffer bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Compressible, with repetitions and zero runs, as files are.
inline ByteBuffer typical_bytes(std::size_t size, std::mt19937_64& random) {
  ByteBuffer bytes;
  while (bytes.size() < size) {
    const std::size_t part = 1 + random() % 30000;
    switch (random() % 4) {
      case 0: bytes.insert(bytes.end(), part, 0); break;
      case 1: bytes.insert(bytes.end(), part, static_cast<std::uint8_t>(random())); break;
      default: {
        std::mt19937_64 same(random() % 8);
        const ByteBuffer repeated = noise_bytes(part, same);
        bytes.insert(bytes.end(), repeated.begin(), repeated.end());
      }
    }
  }
  bytes.resize(size);
  return bytes;
}

class FileContentTest : public ::testing::Test {
 protected:
  static constexpr InodeNumber kInode = 7;

  FileContentTest() : budget_(64 << 20, [] {}) {
    VolumeSettings settings;
    settings.chunker = "gear:avg=4k";
    EXPECT_TRUE(Volume::create(dir_.path() / "volume", settings));
    open();
    content_ = make(kInode);
  }

  void open() {
    VolumeOptions options;
    options.threads = 2;
    volume_ = std::move(*Volume::open(dir_.path() / "volume", options, backing_));
  }

  std::unique_ptr<FileContent> make(InodeNumber inode, std::uint64_t size = 0, std::uint64_t data_bytes = 0) {
    return std::make_unique<FileContent>(*volume_, budget_, inode, size, data_bytes);
  }

  Result<void> write(FileContent& content, std::uint64_t offset, ByteSpan bytes) {
    EXPECT_TRUE(budget_.acquire(bytes.size(), [] { return false; }));
    return content.write(offset, bytes, DirtyBudget::Share::acquired(budget_, bytes.size()));
  }

  void commit() {
    ASSERT_TRUE(content_->flush());
    volume_->freeze();
    ASSERT_TRUE(volume_->commit());
  }

  void reopen() {
    commit();
    const std::uint64_t size = content_->size();
    const std::uint64_t data_bytes = content_->data_bytes();
    content_.reset();
    volume_.reset();
    open();
    content_ = make(kInode, size, data_bytes);
  }

  static ByteBuffer read(FileContent& content, std::uint64_t offset, std::size_t length) {
    const auto pieces = content.read(offset, length);
    EXPECT_TRUE(pieces) << pieces.error().message();
    ByteBuffer bytes;
    if (!pieces) return bytes;
    for (const PinnedBytes& piece : *pieces) bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
    return bytes;
  }
  ByteBuffer read_all() { return read(*content_, 0, content_->size()); }

  static std::size_t entries_in_both(const std::vector<RecipeEntry>& a, const std::vector<RecipeEntry>& b) {
    const auto is_in_a = [&a](const RecipeEntry& entry) { return std::ranges::find(a, entry) != a.end(); };
    return static_cast<std::size_t>(std::ranges::count_if(b, is_in_a));
  }

  std::vector<RecipeEntry> recipe_of(InodeNumber inode) {
    std::vector<RecipeEntry> entries;
    Recipe recipe(volume_->metadata(), inode);
    const auto placed = recipe.list(0, kMaxFileBytes);
    EXPECT_TRUE(placed);
    for (const PlacedEntry& entry : *placed) entries.push_back(entry.entry);
    return entries;
  }

  std::vector<std::uint64_t> boundaries_of(InodeNumber inode) {
    std::vector<std::uint64_t> boundaries;
    std::uint64_t end = 0;
    for (const RecipeEntry& entry : recipe_of(inode)) boundaries.push_back(end += entry.length);
    return boundaries;
  }

  TempDir dir_;
  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  DirtyBudget budget_;
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<FileContent> content_;
};

}  // namespace dedupfs
