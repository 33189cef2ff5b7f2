#include "fs/namespace/posix_acl.h"

#include <gtest/gtest.h>

#include "base/coding.h"

namespace dedupfs {
namespace {

using Tag = PosixAcl::Tag;

std::string xattr(const std::vector<PosixAcl::Entry>& entries, std::uint32_t version = 2) {
  std::string value;
  Encoder out(value);
  out.u32(version);
  for (const PosixAcl::Entry& entry : entries) {
    out.u16(static_cast<std::uint16_t>(entry.tag));
    out.u16(entry.permissions);
    out.u32(entry.tag == Tag::kUser || entry.tag == Tag::kGroup ? entry.id : 0xffffffff);
  }
  return value;
}

// u::rwx u:1000:rw- g::r-x g:50:r-- m::rwx o::r-x
const std::vector<PosixAcl::Entry> kFull{{Tag::kUserObject, 7, 0}, {Tag::kUser, 6, 1000}, {Tag::kGroupObject, 5, 0},
                                         {Tag::kGroup, 4, 50},     {Tag::kMask, 7, 0},    {Tag::kOther, 5, 0}};
const std::vector<PosixAcl::Entry> kMinimal{{Tag::kUserObject, 6, 0}, {Tag::kGroupObject, 4, 0}, {Tag::kOther, 4, 0}};

TEST(PosixAcl, WhatTheKernelPassesComesBack) {
  const auto acl = PosixAcl::decode(xattr(kFull));

  ASSERT_TRUE(acl);
  EXPECT_EQ(acl->entries(), kFull);
  EXPECT_EQ(acl->encode(), xattr(kFull));
}

TEST(PosixAcl, AListWithoutEntriesIsNone) {
  EXPECT_TRUE(PosixAcl::decode("")->empty());
  EXPECT_TRUE(PosixAcl::decode(xattr({}))->empty());
}

TEST(PosixAcl, ListsThatAreNotWellFormedAreRefused) {
  const auto without = [](std::size_t index) {
    std::vector<PosixAcl::Entry> entries = kFull;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(index));
    return xattr(entries);
  };
  const auto swapped = [](std::size_t a, std::size_t b) {
    std::vector<PosixAcl::Entry> entries = kFull;
    std::swap(entries[a], entries[b]);
    return xattr(entries);
  };
  for (const std::string& value :
       {without(0), without(2), without(4), without(5), swapped(0, 1), swapped(2, 3), swapped(4, 5), xattr(kFull) + "x",
        xattr(kFull).substr(0, 3), xattr({{Tag::kUserObject, 8, 0}, {Tag::kGroupObject, 4, 0}, {Tag::kOther, 4, 0}}),
        xattr({{Tag::kUserObject, 6, 0},
               {Tag::kUser, 6, 0xffffffff},
               {Tag::kGroupObject, 4, 0},
               {Tag::kMask, 4, 0},
               {Tag::kOther, 4, 0}}),
        xattr({{static_cast<Tag>(64), 6, 0}})}) {
    const auto acl = PosixAcl::decode(value);
    ASSERT_FALSE(acl);
    EXPECT_EQ(acl.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(PosixAcl::decode(xattr(kFull, 3)).error().code(), ErrorCode::kUnsupported);
}

TEST(PosixAcl, TheMaskShowsAsTheGroupOfTheMode) {
  EXPECT_EQ(PosixAcl::decode(xattr(kFull))->permissions(), 0775U);
  EXPECT_EQ(PosixAcl::decode(xattr(kMinimal))->permissions(), 0644U);
}

TEST(PosixAcl, OnlyNamedUsersGroupsAndMasksSayMoreThanAMode) {
  EXPECT_TRUE(PosixAcl::decode(xattr(kFull))->extends_mode());
  EXPECT_FALSE(PosixAcl::decode(xattr(kMinimal))->extends_mode());
}

TEST(PosixAcl, InheritanceNarrowsOwnerMaskAndOthers) {
  PosixAcl acl = *PosixAcl::decode(xattr(kFull));

  acl.restrict_to(0640);

  EXPECT_EQ(acl.permissions(), 0640U);
  EXPECT_EQ(acl.entries()[1].permissions, 6);  // the user's entry stays, the mask limits it
  EXPECT_EQ(acl.entries()[2].permissions, 5);  // and so does the group's
}

TEST(PosixAcl, InheritanceWithoutMaskNarrowsTheGroup) {
  PosixAcl acl = *PosixAcl::decode(xattr(kMinimal));

  acl.restrict_to(0700);

  EXPECT_EQ(acl.permissions(), 0600U);
}

TEST(PosixAcl, ChmodSetsTheMaskInPlaceOfTheGroup) {
  PosixAcl acl = *PosixAcl::decode(xattr(kFull));

  acl.set_permissions(0321);

  EXPECT_EQ(acl.permissions(), 0321U);
  EXPECT_EQ(acl.entries()[2].permissions, 5);
}

}  // namespace
}  // namespace dedupfs
