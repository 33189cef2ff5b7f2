#include "store/volume/encrypted_creation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/seal/sealed_backing.h"
#include "support/memory_disk.h"

namespace dedupfs {
namespace {

class EncryptedCreationTest : public testing::Test {
 protected:
  EncryptedCreationTest() {
    settings_.label = "a secret label";
    encryption_.passphrase = Secret(bytes_of("the passphrase"));
    encryption_.kdf = {.memory_kib = 8, .passes = 1, .lanes = 1};
  }
  Result<Superblock> create() { return create_encrypted_volume("/volume", settings_, encryption_, disk_); }
  Result<std::unique_ptr<Volume>> open(std::string_view passphrase) {
    auto keys = [=](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
      DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of(passphrase)));
      return std::move(unlocked.key);
    };
    return Volume::open("/volume", {.index_memory_bytes = Database::kMinMemoryBytes},
                        std::make_shared<SealedBacking>(disk_, keys));
  }

  VolumeSettings settings_;
  EncryptionSettings encryption_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
};

TEST_F(EncryptedCreationTest, MakesAVolumeThatOpensWithItsPassphraseOnly) {
  const auto superblock = create();
  ASSERT_TRUE(superblock) << superblock.error().message();
  {
    const auto volume = open("the passphrase");
    ASSERT_TRUE(volume) << volume.error().message();
    EXPECT_EQ((*volume)->superblock().label, "a secret label");
    EXPECT_EQ((*volume)->superblock().uuid, superblock->uuid);
    EXPECT_TRUE((*volume)->was_closed());
  }
  EXPECT_EQ(open("another").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(Volume::open("/volume", {}, disk_).error().code(), ErrorCode::kNotPermitted) << "without a key";
  for (const auto& [id, text] : disk_->image().contents) {
    EXPECT_EQ(text->find("secret label"), std::string::npos);
    EXPECT_EQ(text->find("gear"), std::string::npos);
    EXPECT_EQ(text->find("rocksdb"), std::string::npos);
  }
}

TEST_F(EncryptedCreationTest, IsNotMadeOverAnotherVolume) {
  ASSERT_TRUE(Volume::create("/volume", settings_, disk_));
  EXPECT_EQ(create().error().code(), ErrorCode::kExists);
}

TEST_F(EncryptedCreationTest, OfAPlainVolumeItSaysWhatToDoInstead) {
  ASSERT_TRUE(Volume::create("/volume", settings_, disk_));
  const std::string refusal = create().error().message();
  for (const char* way : {"dedupfs-send OLD --snapshot NAME | dedupfs-receive NEW", "--since", "cp -a OLD/. NEW/"})
    EXPECT_NE(refusal.find(way), std::string::npos) << refusal;

  const auto volume = disk_->open_root("/volume").value();
  const std::vector<std::string> names = volume->list().value();
  for (const std::string& name : names) ASSERT_TRUE(remove_tree(*volume, name));
  ASSERT_TRUE(create());
  EXPECT_EQ(create().error().message().find("cp -a"), std::string::npos) << "it is encrypted already";
}

// Another program makes a volume, or anything, in the same folder.
TEST_F(EncryptedCreationTest, WhatOthersMadeMeanwhileStays) {
  ASSERT_TRUE(disk_->make_directory("/volume"));
  const auto volume = disk_->open_root("/volume").value();
  bool is_done = false;
  disk_->set_fault([&](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
    if (operation != "open" || path != "/volume/superblock.copy.json.new" || is_done) return std::nullopt;
    is_done = true;
    const MemoryDisk::FaultsPaused paused;
    EXPECT_TRUE(volume->open("of somebody else", Backing::Mode::kCreate));
    return MemoryDisk::Fault{.error = {ErrorCode::kNoSpace, "the disk is full"}};
  });

  EXPECT_EQ(create().error().code(), ErrorCode::kNoSpace);

  EXPECT_TRUE(is_done);
  EXPECT_EQ(volume->list().value(), std::vector<std::string>{"of somebody else"});
}

TEST_F(EncryptedCreationTest, TheSecondOfTwoAtOnceTouchesNothingOfTheFirst) {
  ASSERT_TRUE(disk_->make_directory("/volume"));
  bool is_done = false;
  disk_->set_fault([&](std::string_view operation, const Path& path) -> std::optional<MemoryDisk::Fault> {
    if (operation != "open" || path != "/volume/unmounted" || is_done) return std::nullopt;
    is_done = true;  // the other one is as far, and faster
    const MemoryDisk::FaultsPaused paused;
    EXPECT_TRUE(create());
    return MemoryDisk::Fault{.error = {ErrorCode::kExists, "it exists"}};  // now
  });

  EXPECT_EQ(create().error().code(), ErrorCode::kExists);

  EXPECT_TRUE(is_done);
  EXPECT_TRUE(open("the passphrase"));
}

TEST_F(EncryptedCreationTest, LeavesNothingIfItFails) {
  encryption_.passphrase = Secret();
  EXPECT_EQ(create().error().code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(disk_->open_root("/").value()->exists("volume").value());
}

}  // namespace
}  // namespace dedupfs
