#include "store/seal/outside_view.h"
#include "base/uuid.h"

#include "store/seal/sealed_volume.h"

namespace dedupfs {
namespace {

class OutsideViewTest : public SealedVolume {
 protected:
  OutsideViewTest() {
    EXPECT_TRUE(replace_file(*open().value(), kSuperblockCopyFile, bytes_of("settings of the volume")));
    leave_lock("");
  }
  void leave_lock(std::string_view text) {
    (void)real_->unlink(kLockFile);  // there may be none
    const auto lock = real_->open(kLockFile, Backing::Mode::kCreate);
    EXPECT_TRUE((*lock)->write(0, bytes_of(text)));
  }
  OutsideCheck check() {
    const auto found = check_from_outside(*real_);
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : OutsideCheck();
  }
};

TEST_F(OutsideViewTest, ShowsTheClearFieldsAndTheFiles) {
  const OutsideView view = view_from_outside(*real_).value();

  EXPECT_EQ(view.header.clear.incompatible, std::vector<std::string>{"encryption"});
  EXPECT_EQ(view.header.slots.size(), 1u);
  EXPECT_EQ(view.folders.at("containers").count, 2u);
  EXPECT_EQ(view.folders.at("containers").bytes, sealed("one").size() + sealed("two").size());
  EXPECT_EQ(view.folders.at("checkpoints").count, 0u);
}

TEST_F(OutsideViewTest, CountsEvictedContainersApart) {
  EXPECT_EQ(view_from_outside(*real_).value().evicted.count, 0u);
  const auto evicted = real_->make_and_open_folder(kEvictedDirectory).value();
  fill(*evicted, "0000000007.container", std::string(5000, 'x'));
  fill(*evicted, "0000000007.container.part", "which ranges are here");

  const OutsideView view = view_from_outside(*real_).value();

  EXPECT_EQ(view.evicted.count, 1u);
  EXPECT_EQ(view.evicted.bytes, 5000u);
  EXPECT_GT(view.evicted_here_bytes, 0u);
  EXPECT_EQ(view.folders.at("containers").count, 2u);
}

TEST_F(OutsideViewTest, FindsNoFaultWithAVolumeThatIsWhole) {
  EXPECT_EQ(check().errors, std::vector<std::string>());
  EXPECT_EQ(check().notes, std::vector<std::string>());
  EXPECT_EQ(check().files, 2u);
}

TEST_F(OutsideViewTest, SomeFilesOfTheIndexAreEmpty) {
  const auto index = real_->open_folder(kIndexDirectory).value();
  for (const std::string_view name : {"LOCK", "000012.log"}) ASSERT_TRUE(index->open(name, Backing::Mode::kCreate));
  EXPECT_EQ(check().errors, std::vector<std::string>());
}

TEST_F(OutsideViewTest, FindsWhatIsMissingDamagedOrTooShort) {
  ASSERT_TRUE(real_->unlink(kSuperblockCopyFile));
  for (const std::string_view record : {"unmounted", "unmounted.copy"}) ASSERT_TRUE(real_->unlink(record));
  ASSERT_TRUE(real_->remove_folder(kIndexDirectory));
  put_sealed("one", "short");
  put_sealed("two", "");
  EXPECT_EQ(check().errors.size(), 5u);
}

TEST_F(OutsideViewTest, AfterACrashAShortFileIsNoError) {
  leave_lock("123");
  put_sealed("one", "short");
  EXPECT_EQ(check().errors, std::vector<std::string>());
  EXPECT_EQ(check().notes.size(), 1u);
}

TEST_F(OutsideViewTest, IsOfEncryptedVolumesOnly) {
  const auto plain = std::make_shared<MemoryDisk>()->open_root("/").value();
  ASSERT_TRUE(write_superblock(*plain, Superblock{.uuid = make_uuid(), .chunker = "gear"}));
  EXPECT_EQ(view_from_outside(*plain).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(check_from_outside(*plain).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dedupfs
