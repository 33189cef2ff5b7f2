#include "fs/extract/readable_volume.h"
#include "base/uuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fs/damaged_volume.h"
#include "fs/test_filesystem.h"
#include "store/format/superblock.h"
#include "store/seal/sealed_backing.h"
#include "support/files.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A volume with a file, a checkpoint of it, and a file that came later.
class ReadableVolumes : public testing::Test {
 protected:
  ReadableVolumes() {
    volume_.make_file(kRootInode, "file", text_);
    EXPECT_TRUE(ok(volume_->create_snapshot("snapshot")));
    volume_.reopen();
    options_.scratch = scratch_.path();
    options_.say = [this](const std::string& line) { said_.push_back(line); };
  }

  static std::string text_of_file(ReadableVolume& volume, InodeNumber folder, std::string_view name) {
    const Attributes found = value_of(volume.filesystem().lookup(folder, name));
    std::string text;
    for (const PinnedBytes& piece : value_of(volume.filesystem().read(found.inode, 0, found.size)))
      text += dedupfs::text_of(piece.bytes);
    return text;
  }

  const std::string text_ = random_text(200'000, 1);
  TestFilesystem volume_{TestFilesystem::with_checkpoints()};
  const TempDir scratch_;
  ReadableVolumeOptions options_;
  std::vector<std::string> said_;
};

TEST_F(ReadableVolumes, AreReadAndStayAsTheyAre) {
  volume_.close();
  const auto before = bytes_below(volume_.path());
  {
    const auto volume = value_of(ReadableVolume::open(volume_.path(), options_));
    EXPECT_EQ(text_of_file(*volume, kRootInode, "file"), text_);
    EXPECT_EQ(volume->losses(), 0);
  }
  EXPECT_EQ(bytes_below(volume_.path()), before);
  EXPECT_TRUE(said_.empty());
}

TEST_F(ReadableVolumes, AreReadAfterACrash) {
  volume_.make_file(kRootInode, "later", "later");
  ASSERT_TRUE(ok(volume_->sync()));
  const TempDir copy;
  crash_copy(volume_.path(), copy.path() / "volume");
  const auto before = bytes_below(copy.path());

  const auto volume = value_of(ReadableVolume::open(copy.path() / "volume", options_));

  EXPECT_EQ(text_of_file(*volume, kRootInode, "later"), "later");
  EXPECT_EQ(bytes_below(copy.path()), before);
}

TEST_F(ReadableVolumes, AreNotReadWhileTheyAreMounted) {
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, ReadableVolume::open(volume_.path(), options_)));
}

TEST_F(ReadableVolumes, AreReadBesideOtherReaders) {
  volume_.reopen(/*read_only=*/true);

  EXPECT_TRUE(ok(ReadableVolume::open(volume_.path(), options_)));
}

TEST_F(ReadableVolumes, ComeBackFromTheCheckpointIfTheIndexIsLost) {
  volume_.close();
  std::filesystem::remove_all(volume_.path() / "index");
  const auto before = bytes_below(volume_.path());
  {
    const auto volume = value_of(ReadableVolume::open(volume_.path(), options_));
    EXPECT_EQ(text_of_file(*volume, kRootInode, "file"), text_);
    const InodeNumber snapshot = value_of(volume->filesystem().lookup(kSnapshotsInode, "snapshot")).inode;
    EXPECT_EQ(text_of_file(*volume, snapshot, "file"), text_);
    EXPECT_EQ(volume->losses(), 1);
  }
  EXPECT_EQ(bytes_below(volume_.path()), before);
  EXPECT_THAT(said_, Contains(HasSubstr("lost: files and directories are restored from")));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

TEST_F(ReadableVolumes, AreReadWithANewIndexIfTheirOwnIsDamaged) {
  volume_.close();
  for (const auto& file : std::filesystem::directory_iterator(volume_.path() / "index"))
    if (file.path().filename().string().starts_with("MANIFEST")) overwrite(file.path(), "nonsense");
  const auto before = bytes_below(volume_.path());
  {
    const auto volume = value_of(ReadableVolume::open(volume_.path(), options_));
    EXPECT_EQ(text_of_file(*volume, kRootInode, "file"), text_);
  }
  EXPECT_EQ(bytes_below(volume_.path()), before);
  EXPECT_THAT(said_, Contains(HasSubstr("the index of the volume cannot be read")));
}

TEST_F(ReadableVolumes, GetANewIndexIfThatIsAskedFor) {
  volume_.close();
  options_.rebuild_index = true;

  const auto volume = value_of(ReadableVolume::open(volume_.path(), options_));

  EXPECT_EQ(text_of_file(*volume, kRootInode, "file"), text_);
  EXPECT_EQ(volume->losses(), 0);  // the old one could be read
}

// Anybody can put that into /tmp.
TEST_F(ReadableVolumes, DoNotAskForTheKeyOfWhatLiesInTheFolderForTheNewIndex) {
  volume_.close();
  options_.rebuild_index = true;
  const Secret master = VolumeKey::make_master();
  KeyHeader header{.uuid = make_uuid()};
  ASSERT_TRUE(add_slot(header, master.bytes(), bytes_of("secret"), "", {.memory_kib = 8, .passes = 1, .lanes = 1}));
  ASSERT_TRUE(ok(write_key_header(*value_of(Backing::posix()->open_root(scratch_.path())), header, master.bytes())));
  const auto nobody = [](const Path&, const KeyHeader&) -> Result<std::shared_ptr<const VolumeKey>> {
    return Error{ErrorCode::kNotPermitted, "nobody knows the passphrase"};
  };
  const auto backing = std::make_shared<SealedBacking>(Backing::posix(), nobody);

  EXPECT_TRUE(ok(ReadableVolume::open(volume_.path(), options_, backing)));
}

TEST_F(ReadableVolumes, SayWhatIsNoVolume) {
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, ReadableVolume::open(scratch_.path(), options_)));
}

}  // namespace
}  // namespace dedupfs
