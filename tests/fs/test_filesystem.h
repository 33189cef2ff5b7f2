// A filesystem on a volume in a temporary directory, and short forms of what tests do with it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fs/format/mode.h"
#include "fs/namespace/filesystem.h"
#include "support/crash_copy.h"
#include "support/random_bytes.h"
#include "support/temp_dir.h"

namespace dedupfs {

// The value, or a failed test with the message of the error.
template <class T>
T value_of(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result) {
    ADD_FAILURE_AT(file, line) << name_of(result.error().code()) << ": " << result.error().message();
    throw std::runtime_error(result.error().message());
  }
  return std::move(*result);
}

template <class T>
testing::AssertionResult fails_with(ErrorCode code, const Result<T>& result) {
  if (result) return testing::AssertionFailure() << "succeeded, expected: " << name_of(code);
  if (result.error().code() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message() << ", expected: " << name_of(code);
}

template <class T>
testing::AssertionResult ok(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name_of(result.error().code()) << ": " << result.error().message();
}

class TestFilesystem {
 public:
  TestFilesystem() : TestFilesystem(quiet()) {}
  explicit TestFilesystem(const FilesystemOptions& options) : options_(options) {
    value_of(Volume::create(path(), settings()));
    open();
  }

  // No commit and no checkpoint unless a test asks for it.
  static FilesystemOptions quiet() {
    FilesystemOptions options;
    options.commit_interval = std::chrono::hours(1);
    options.checkpoint_interval = std::chrono::hours(0);
    options.background_patience = {};
    return options;
  }
  // One at its end.
  static FilesystemOptions with_checkpoints() {
    FilesystemOptions options = quiet();
    options.checkpoint_interval = std::chrono::hours(1);
    return options;
  }
  static VolumeSettings settings() {
    VolumeSettings settings;
    settings.chunker = "vram:avg=4k,min=1k,max=16k";  // small: short files have many chunks
    return settings;
  }

  std::filesystem::path path() const { return directory_.path() / "volume"; }
  Filesystem& operator*() { return *filesystem_; }
  Filesystem* operator->() { return filesystem_.get(); }

  // Everything on the disk goes through it from the next open() on.
  void use(std::shared_ptr<Backing> backing) { backing_ = std::move(backing); }
  void open(bool read_only = false) {
    VolumeOptions options;
    options.read_only = read_only;
    options.threads = 2;
    options.index_memory_bytes = 32 << 20;
    filesystem_ = value_of(Filesystem::open(value_of(Volume::open(path(), options, backing_)), options_));
  }
  void close() {
    EXPECT_TRUE(ok(filesystem_->close()));
    filesystem_.reset();
  }
  // Without looking at what close() says.
  void drop() { filesystem_.reset(); }
  void reopen(bool read_only = false) {
    close();
    open(read_only);
  }
  // What a crash at this moment leaves, as a filesystem of its own. Nothing may be under way.
  std::unique_ptr<TestFilesystem> after_crash() {
    std::unique_ptr<TestFilesystem> copy(new TestFilesystem(options_, 0));
    crash_copy(path(), copy->path());
    copy->open();
    return copy;
  }

  // --- short forms; what they return is referenced once
  InodeNumber make_file(InodeNumber parent, std::string_view name, std::string_view content = {},
                        std::uint32_t mode = 0644) {
    const InodeNumber inode = value_of(filesystem_->create(parent, name, mode, {})).inode;
    if (!content.empty()) write(inode, 0, content);
    return inode;
  }
  InodeNumber make_directory(InodeNumber parent, std::string_view name, std::uint32_t mode = 0755) {
    return value_of(filesystem_->make_directory(parent, name, mode, {})).inode;
  }
  void write(InodeNumber inode, std::uint64_t offset, std::string_view content) {
    EXPECT_TRUE(ok(filesystem_->write(inode, offset, bytes_of(content), {}, nullptr)));
  }
  std::string content(InodeNumber inode) { return read(inode, 0, attributes(inode).size); }
  std::string read(InodeNumber inode, std::uint64_t offset, std::size_t length) {
    std::string content;
    for (const PinnedBytes& piece : value_of(filesystem_->read(inode, offset, length))) content += text_of(piece.bytes);
    return content;
  }
  Attributes attributes(InodeNumber inode) { return value_of(filesystem_->attributes(inode)); }
  // Looks a path up without keeping a reference.
  Result<InodeNumber> find(std::string_view path) {
    InodeNumber inode = kRootInode;
    while (!path.empty()) {
      const std::string_view name = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(path.size(), name.size() + 1));
      const Result<Attributes> found = filesystem_->lookup(inode, name);
      if (!found) return found.error();
      inode = found->inode;
      filesystem_->forget(inode, 1);
    }
    return inode;
  }
  std::vector<DirectoryEntry> list(InodeNumber directory, std::uint64_t cookie = 0, std::size_t most = SIZE_MAX) {
    std::vector<DirectoryEntry> entries;
    if (most == 0) return entries;
    EXPECT_TRUE(ok(filesystem_->read_directory(directory, cookie, false, [&](const DirectoryEntry& entry) {
      entries.push_back(entry);
      return entries.size() < most;
    })));
    return entries;
  }
  std::vector<std::string> names(InodeNumber directory) {
    std::vector<std::string> names;
    for (const DirectoryEntry& entry : list(directory)) names.push_back(entry.name);
    return names;
  }
  bool inodes_become(std::uint64_t count) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
      if (value_of(filesystem_->space()).inodes == count) return true;
    return false;
  }

 private:
  TestFilesystem(const FilesystemOptions& options, int) : options_(options) {}

  TempDir directory_;
  const FilesystemOptions options_;
  std::shared_ptr<Backing> backing_ = Backing::posix();
  std::unique_ptr<Filesystem> filesystem_;
};

}  // namespace dedupfs
