// Which changes take set-id bits away, by whom: as local filesystems of Linux do it.
#include <gtest/gtest.h>

#include <functional>

#include "fs/namespace/posix_acl.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

struct FakeRights final : CallerRights {
  bool has_group = false;
  bool fsetid = false;

  bool has_supplementary_group(std::uint32_t) const override { return has_group; }
  bool may_keep_set_ids() const override { return fsetid; }
};

class SetIdsTest : public testing::Test {
 protected:
  SetIdsTest() {
    EXPECT_TRUE(ok(fs_->set_attributes(file_, {.uid = 1000, .gid = 500}, {})));
    member_.has_group = true;
    privileged_.fsetid = true;
  }

  std::uint32_t mode_after(std::uint32_t mode, const CallerRights& rights,
                           const std::function<Result<void>(const Caller&)>& change) {
    EXPECT_TRUE(ok(fs_->set_attributes(file_, {.mode = mode}, {})));
    EXPECT_TRUE(ok(change({.uid = 1000, .gid = 100, .rights = &rights})));
    return fs_.attributes(file_).mode & 07777;
  }

  TestFilesystem fs_;
  InodeNumber file_ = fs_.make_file(kRootInode, "f", "some text");
  FakeRights stranger_;
  FakeRights member_;
  FakeRights privileged_;

  // Everything that changes what a file holds.
  const std::vector<std::function<Result<void>(const Caller&)>> changes_ = {
      [this](const Caller& caller) { return fs_->write(file_, 0, bytes_of("x"), caller, nullptr); },
      [this](const Caller& caller) -> Result<void> {
        DEDUPFS_TRY(fs_->set_attributes(file_, {.size = 5}, caller));
        return {};
      },
      [this](const Caller& caller) -> Result<void> {  // as the kernel asks for it
        const std::uint32_t mode = fs_.attributes(file_).mode & 07777;
        DEDUPFS_TRY(fs_->set_attributes(file_, {.mode = mode, .size = 5}, caller));
        return {};
      },
      [this](const Caller& caller) { return allocate(Filesystem::AllocateMode::kExtend, caller); },
      [this](const Caller& caller) { return allocate(Filesystem::AllocateMode::kKeepSize, caller); },
      [this](const Caller& caller) { return allocate(Filesystem::AllocateMode::kPunchHole, caller); },
      [this](const Caller& caller) { return allocate(Filesystem::AllocateMode::kZeroRange, caller); },
      [this](const Caller& caller) { return allocate(Filesystem::AllocateMode::kZeroRangeKeepSize, caller); },
      [this](const Caller& caller) -> Result<void> {
        DEDUPFS_TRY(fs_->copy_range(file_, 0, file_, 4, 2, caller));
        return {};
      },
  };

 private:
  Result<void> allocate(Filesystem::AllocateMode mode, const Caller& caller) {
    return fs_->allocate(file_, 1, 3, mode, caller);
  }
};

TEST_F(SetIdsTest, AChangeOfTheContentTakesThem) {
  for (const auto& change : changes_) {
    EXPECT_EQ(mode_after(06777, member_, change), 0777U);
    EXPECT_EQ(mode_after(06666, stranger_, change), 0666U);  // although the group cannot execute it
    EXPECT_EQ(mode_after(06666, member_, change), 02666U);
    EXPECT_EQ(mode_after(06777, privileged_, change), 06777U);
    EXPECT_EQ(mode_after(0644, stranger_, change), 0644U);
  }
}

TEST_F(SetIdsTest, AreKeptByWhatChangesNothing) {
  const auto read = [&](const Caller&) -> Result<void> {
    DEDUPFS_TRY(fs_->read(file_, 0, 5));
    return {};
  };

  EXPECT_EQ(mode_after(06666, stranger_, read), 06666U);
}

TEST_F(SetIdsTest, AnAccessListOfAStrangerToTheGroupTakesTheGroupsBit) {
  const std::string list = [] {
    const unsigned char bytes[] = {2,  0, 0, 0,                           // version
                                   1,  0, 7, 0, 0xff, 0xff, 0xff, 0xff,   // user::rwx
                                   4,  0, 5, 0, 0xff, 0xff, 0xff, 0xff,   // group::r-x
                                   32, 0, 5, 0, 0xff, 0xff, 0xff, 0xff};  // other::r-x
    return std::string(reinterpret_cast<const char*>(bytes), sizeof bytes);
  }();
  const auto set_list = [&](const Caller& caller) {
    return fs_->set_xattr(file_, kAccessAclName, list, Filesystem::XattrMode::kSet, caller);
  };
  const auto set_note = [&](const Caller& caller) {
    return fs_->set_xattr(file_, "user.note", "text", Filesystem::XattrMode::kSet, caller);
  };

  EXPECT_EQ(mode_after(06755, stranger_, set_list), 04755U);
  EXPECT_EQ(mode_after(06755, member_, set_list), 06755U);
  EXPECT_EQ(mode_after(06755, privileged_, set_list), 06755U);
  EXPECT_EQ(mode_after(06755, stranger_, set_note), 06755U);
}

TEST_F(SetIdsTest, WithoutAnswersRootKeepsThemAndNobodyElseHasGroups) {
  const Caller root{.uid = 0, .gid = 0};
  const Caller owner_of_group{.uid = 1000, .gid = 500};

  EXPECT_TRUE(root.may_keep_set_ids());
  EXPECT_FALSE(owner_of_group.may_keep_set_ids());
  EXPECT_TRUE(owner_of_group.is_in_group(500));
  EXPECT_FALSE(owner_of_group.is_in_group(501));
}

}  // namespace
}  // namespace dedupfs
