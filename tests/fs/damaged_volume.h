// A volume to be damaged: files of all kinds, written in three sessions (so in three containers, and with several tables for
// each family of the index), the third with deltas of what the first wrote. And what is to be known of it afterwards.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fs/check/fsck.h"
#include "fs/test_filesystem.h"
#include "store/format/container_format.h"
#include "store/metadata/checkpoint.h"
#include "store/volume/volume.h"
#include "support/files.h"

namespace dedupfs {

inline std::string noise(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// Every file below a folder, by its path in it.
inline std::map<std::string, std::string> bytes_below(const Path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    files[file.path().lexically_relative(folder).string()] = file.is_regular_file() ? content_of(file.path()) : "";
  return files;
}

// Names and content of a filesystem, as its users see it.
struct VolumeTree {
  static constexpr std::size_t kBlock = 4096;

  struct Entry {
    InodeNumber inode = 0;
    std::uint32_t mode = 0;
    std::uint32_t links = 0;
    std::string content;           // of a file, zeros where it cannot be read; the target of a symbolic link
    std::vector<bool> unreadable;  // by block
    std::string xattr;             // "user.name"

    bool operator==(const Entry&) const = default;
  };
  std::map<std::string, Entry> entries;  // by path

  static VolumeTree of(Filesystem& filesystem) {
    VolumeTree tree;
    tree.read_directory(filesystem, kRootInode, "");
    return tree;
  }

 private:
  void read_directory(Filesystem& filesystem, InodeNumber directory, const std::string& path) {
    std::vector<DirectoryEntry> found;
    EXPECT_TRUE(ok(filesystem.read_directory(directory, 0, false, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") found.push_back(entry);
      return true;
    })));
    for (const DirectoryEntry& name : found) {
      const Attributes attributes = value_of(filesystem.lookup(directory, name.name));
      Entry entry{.inode = attributes.inode, .mode = attributes.mode, .links = attributes.links};
      if (is_regular(attributes.mode)) read_content(filesystem, attributes, entry);
      if (is_symlink(attributes.mode)) entry.content = value_of(filesystem.read_symlink(attributes.inode));
      if (const auto value = filesystem.get_xattr(attributes.inode, "user.name")) entry.xattr = *value;
      entries[path + "/" + name.name] = entry;
      if (is_directory(attributes.mode)) read_directory(filesystem, attributes.inode, path + "/" + name.name);
      filesystem.forget(attributes.inode, 1);
    }
  }

  static void read_content(Filesystem& filesystem, const Attributes& attributes, Entry& entry) {
    constexpr std::uint64_t kMax = 1 << 20;  // a damaged record can say anything
    for (std::uint64_t offset = 0; offset < std::min(attributes.size, kMax); offset += kBlock) {
      const std::size_t length = std::min<std::uint64_t>(kBlock, attributes.size - offset);
      const auto pieces = filesystem.read(attributes.inode, offset, length);
      entry.unreadable.push_back(!pieces);
      if (!pieces)
        entry.content.append(length, '\0');
      else
        for (const PinnedBytes& piece : *pieces) entry.content += text_of(piece.bytes);
    }
  }
};

class DamagedVolume {
 public:
  // A copy of the volume, which is made once.
  DamagedVolume() { std::filesystem::copy(made().path(), path(), std::filesystem::copy_options::recursive); }

  Path path() const { return directory_.path() / "volume"; }
  Path index() const { return path() / kIndexDirectory; }
  Path container(std::uint32_t number) const { return path() / kContainersDirectory / container_name(number); }
  static const VolumeTree& tree_when_whole() {
    made();
    return whole_tree();
  }

  std::vector<Path> tables(Family family) const {
    std::vector<Path> found;
    for (const auto& file : std::filesystem::directory_iterator(index()))
      // The name of the family stands in the table's properties, behind the end of "rocksdb.column.family.name".
      if (file.path().extension() == ".sst" &&
          content_of(file.path()).find("name" + std::string(name_of(family))) != std::string::npos)
        found.push_back(file.path());
    EXPECT_FALSE(found.empty()) << name_of(family);
    std::ranges::sort(found);
    return found;
  }
  std::vector<Path> files_of_index(const std::string& prefix) const {
    std::vector<Path> found;
    for (const auto& file : std::filesystem::directory_iterator(index()))
      if (file.path().filename().string().starts_with(prefix)) found.push_back(file.path());
    return found;
  }

  std::unique_ptr<Volume> open(bool read_only) const {
    VolumeOptions options;
    options.read_only = read_only;
    options.threads = 1;
    options.index_memory_bytes = 16 << 20;
    return value_of(Volume::open(path(), options));
  }
  void put(Family family, const std::string& key, const std::string& value) const {
    const auto volume = open(false);
    Database::Batch batch(volume->database());
    batch.put(family, key, value);
    EXPECT_TRUE(ok(volume->database().write(batch)));
  }
  void erase(Family family, const std::string& key) const {
    const auto volume = open(false);
    Database::Batch batch(volume->database());
    batch.erase(family, key);
    EXPECT_TRUE(ok(volume->database().write(batch)));
  }
  std::vector<KeyValue> records(Family family) const {
    return value_of(open(true)->database().list(family, {}, {}, 10'000));
  }

  void take_checkpoint() const {
    const auto volume = open(true);
    const Checkpoints checkpoints(volume->folder(), value_of(parse_uuid(volume->superblock().uuid)));
    EXPECT_TRUE(ok(checkpoints.write(volume->database(), [](std::uint64_t) { return true; })));
  }

  FsckReport fsck(FsckOptions::Mode mode, bool verify_data = true) const {
    FsckOptions options;
    options.mode = mode;
    options.verify_data = verify_data;
    return value_of(run_fsck(path(), options));
  }

  VolumeTree tree() const {
    auto filesystem = value_of(Filesystem::open(open(true), TestFilesystem::quiet()));
    VolumeTree tree = VolumeTree::of(*filesystem);
    EXPECT_TRUE(ok(filesystem->close()));
    return tree;
  }

 private:
  static VolumeTree& whole_tree() {
    static VolumeTree tree;
    return tree;
  }

  static TestFilesystem& made() {
    static const auto filesystem = [] {
      auto owned = std::make_unique<TestFilesystem>();
      TestFilesystem& made = *owned;
      const InodeNumber folder = made.make_directory(kRootInode, "folder");
      const InodeNumber below = made.make_directory(folder, "below");
      std::string first = noise(300'000, 1);
      const InodeNumber one = made.make_file(folder, "one", first);
      value_of(made->make_link(one, kRootInode, "second name of one"));
      const InodeNumber tiny = made.make_file(kRootInode, "tiny", "tiny");
      EXPECT_TRUE(ok(made->set_xattr(tiny, "user.name", "value", Filesystem::XattrMode::kSet)));
      made.reopen();
      made.make_file(below, "two", noise(200'000, 2));
      value_of(made->make_symlink(kRootInode, "link", "folder/one", {}));
      const InodeNumber sparse = made.make_file(kRootInode, "sparse");
      made.write(sparse, 0, noise(20'000, 3));
      made.write(sparse, 500'000, noise(20'000, 4));
      made.reopen();
      for (std::size_t at = 500; at < first.size(); at += 3000) first[at] = static_cast<char>(first[at] ^ 1);
      made.make_file(kRootInode, "three", first);
      EXPECT_TRUE(ok(made->sync()));
      whole_tree() = VolumeTree::of(*made);
      made.close();
      return owned;
    }();
    return *filesystem;
  }

  TempDir directory_;
};

}  // namespace dedupfs
