#include "store/seal/sealed_backing.h"
#include "base/uuid.h"

#include "store/seal/sealed_volume.h"

namespace dedupfs {
namespace {

class SealedBackingTest : public SealedVolume {
 protected:
  // A folder with what makes it a volume that is not encrypted.
  Result<void> put_plain(const std::string& name) {
    DEDUPFS_ASSIGN(const auto root, disk_->open_root("/"));
    DEDUPFS_TRY(root->make_folder(name));
    DEDUPFS_ASSIGN(const auto folder, root->open_folder(name));
    return write_superblock(*folder, Superblock{.uuid = make_uuid(), .chunker = "gear"});
  }
};
using Found = Result<std::shared_ptr<const VolumeKey>>;

TEST_F(SealedBackingTest, ABackingOpensItWithItsKeyAndPlainFoldersAsTheyAre) {
  int asked = 0;
  SealedBacking backing(disk_, [&](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
    ++asked;
    DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of("secret")));
    return std::move(unlocked.key);
  });
  EXPECT_EQ(content(*backing.open_root("/volume").value(), "one"), "content of one");
  EXPECT_EQ(content(*backing.open_root("/volume").value(), "two"), "content of two");
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(backing.get_key("/none"));
  EXPECT_EQ(backing.open_root("/").value()->list().value(), std::vector<std::string>{"volume"});
  SealedBacking wrong(disk_, [](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
    DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of("wrong")));
    return std::move(unlocked.key);
  });
  EXPECT_EQ(wrong.open_root("/volume").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(wrong.get_key("/volume").error().code(), ErrorCode::kNotPermitted);
}

// Somebody put a plain volume in the place of the encrypted one, to see what is written to it.
TEST_F(SealedBackingTest, WhereAKeyIsGivenAPlainVolumeIsRefused) {
  const auto never = [](const Path&, const KeyHeader&) -> Result<std::shared_ptr<const VolumeKey>> {
    return invalid_argument("nobody should ask");
  };
  ASSERT_TRUE(put_plain("plain"));
  SealedBacking strict(disk_, never, SealedTree::refuse, SealedBacking::Volumes::kEncrypted);
  EXPECT_EQ(strict.open_root("/plain").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(strict.get_key("/plain").error().code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(strict.open_root("/")) << "a folder that is no volume";
  EXPECT_TRUE(SealedBacking(disk_, never).open_root("/plain"));
}

// While the daemon starts, somebody exchanges the volume whose passphrase was typed.
TEST_F(SealedBackingTest, OnceItsKeyWasGivenNoOtherVolumeIsOpened) {
  SealedBacking backing(disk_, [&](const Path&, const KeyHeader&) { return Found(key_); });
  ASSERT_TRUE(backing.get_key("/volume"));
  EXPECT_TRUE(backing.open_root("/volume"));

  ASSERT_TRUE(remove_tree(*disk_->open_root("/").value(), "volume"));
  ASSERT_TRUE(put_plain("volume"));
  EXPECT_EQ(backing.open_root("/volume").error().code(), ErrorCode::kNotPermitted);
  KeyHeader other{.uuid = make_uuid()};
  ASSERT_TRUE(add_slot(other, key_->master(), bytes_of("secret"), "", {.memory_kib = 8, .passes = 1, .lanes = 1}));
  ASSERT_TRUE(write_key_header(*disk_->open_root("/volume").value(), other, key_->master()));
  EXPECT_EQ(backing.open_root("/volume").error().code(), ErrorCode::kNotPermitted);
}

// A key header that somebody else can write makes the machine work before it is known to be false.
TEST_F(SealedBackingTest, AFolderIsJudgedBeforeItsKeyIsAskedFor) {
  int asked = 0;
  bool is_own = false;
  SealedBacking backing(
      disk_,
      [&](const Path&, const KeyHeader&) {
        ++asked;
        return Found(key_);
      },
      SealedTree::refuse, SealedBacking::Volumes::kAll,
      [&](BackingFolder& real) -> Result<void> {
        EXPECT_TRUE(real.exists(kSuperblockFile).value()) << "as the disk has it";
        return is_own ? Result<void>() : Error{ErrorCode::kNotPermitted, "of somebody else"};
      });
  EXPECT_EQ(backing.open_root("/volume").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(backing.get_key("/volume").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(backing.open_root("/")) << "no volume";
  is_own = true;
  EXPECT_TRUE(backing.open_root("/volume"));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace dedupfs
