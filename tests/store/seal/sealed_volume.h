// The folder of a small encrypted volume on a disk in memory, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/checked_json.h"
#include "store/format/format.h"
#include "store/format/superblock.h"
#include "store/seal/key_header.h"
#include "store/seal/sealed_folder.h"
#include "support/crash_replay.h"
#include "support/memory_disk.h"

namespace dedupfs {

class SealedVolume : public testing::Test {
 protected:
  SealedVolume() {
    EXPECT_TRUE(real_->make_folder("volume"));
    EXPECT_TRUE(real_->sync());
    real_ = disk_->open_root("/volume").value();
    const auto folder = create_sealed_folder(real_, key_);
    EXPECT_TRUE(folder->make_folder(kContainersDirectory));
    EXPECT_TRUE(folder->make_folder(kIndexDirectory));
    const auto containers = folder->open_folder(kContainersDirectory).value();
    for (const std::string_view name : {"one", "two"}) fill(*containers, name, "content of " + std::string(name));
    EXPECT_TRUE(replace_file(*folder, kSuperblockFile, bytes_of("settings of the volume")));
    KeyHeader header{.uuid = make_uuid()};
    EXPECT_TRUE(add_slot(header, key_->master(), bytes_of("secret"), "", {.memory_kib = 8, .passes = 1, .lanes = 1}));
    EXPECT_TRUE(write_key_header(*real_, header, key_->master()));
  }

  static void fill(BackingFolder& folder, std::string_view name, const std::string& text) {
    const auto file = folder.open(name, Backing::Mode::kOpenOrCreate);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE((*file)->write((*file)->size().value(), bytes_of(text)));
    ASSERT_TRUE((*file)->datasync());
  }
  // As one who takes the lock.
  Result<std::shared_ptr<BackingFolder>> open(SealedTree::Judge judge = {}) {
    differences_.clear();
    if (!judge)
      judge = [this](const Error& difference) -> Result<void> {
        differences_.push_back(difference.message());
        return {};
      };
    auto folder = open_sealed_folder(real_, key_, std::move(judge));
    const auto lock = folder->open(kLockFile, Backing::Mode::kRead);
    if (!lock && lock.error().code() != ErrorCode::kNotFound) return lock.error();
    return folder;
  }
  // Until set_fault(nullptr).
  void fail(std::string_view operation, std::string_view name, const char* why) {
    disk_->set_fault([=](std::string_view called, const Path& path) -> std::optional<MemoryDisk::Fault> {
      if (called != operation || path.filename() != name) return std::nullopt;
      return MemoryDisk::Fault{{ErrorCode::kIo, why}};
    });
  }
  // A container is written to, and the sync of that fails.
  void fail_to_sync(BackingFolder& folder, std::string_view container, const std::string& written) {
    const auto file =
        folder.open_folder(kContainersDirectory).value()->open(container, Backing::Mode::kReadWrite).value();
    ASSERT_TRUE(file->write(0, bytes_of(written)));
    fail("datasync", container, "a bad disk");
    EXPECT_FALSE(file->datasync());
    disk_->set_fault(nullptr);
  }
  // What of this disk is left by a power cut now that takes all that may go.
  void cut_power() {
    const std::vector<DiskEvent> events = disk_->events();
    CrashReplay replay({}, events);
    replay.go_to(events.size());
    crash(replay.state(1, 1));
  }
  // From now on the disk is as a crash left it.
  void crash(DiskImage left) {
    disk_ = std::make_shared<MemoryDisk>(std::move(left));
    real_ = disk_->open_root("/volume").value();
  }
  std::string content(BackingFolder& folder, std::string_view name) {
    const auto text = read_file(*folder.open_folder(kContainersDirectory).value(), name, 1000);
    return text ? *text : "error: " + text.error().message();
  }
  std::shared_ptr<BackingFolder> real_containers() { return real_->open_folder(kContainersDirectory).value(); }
  // A container as the disk has it, and another in its place.
  std::string sealed(std::string_view name) { return read_file(*real_containers(), name, 10'000).value(); }
  void put_sealed(std::string_view name, const std::string& bytes) {
    const auto folder = real_containers();
    (void)folder->unlink(name);  // it need not be there
    ASSERT_TRUE(folder->open(name, Backing::Mode::kCreate).value()->write(0, bytes_of(bytes)));
  }

  std::shared_ptr<const VolumeKey> key_ =
      std::make_shared<const VolumeKey>(Cipher::kAes256Gcm, VolumeKey::make_master());
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<BackingFolder> real_ = disk_->open_root("/").value();
  std::vector<std::string> differences_;
};

}  // namespace dedupfs
