#include "fs/transfer/records.h"

#include <gtest/gtest.h>

#include <vector>

#include "store/format/format.h"

namespace dedupfs::transfer {
namespace {

const std::vector<Record> kOneOfEach = {
    KnownInode{7, Tree::kBase, 1, "a/path"},
    RemovedName{1, "gone", 7, true},
    MadeInode{1, "made", 8, 0120777, 0x103, "target"},
    PlacedName{1, "placed", 8},
    NewContent{8, 4096, "bytes"},
    DeltaContent{8, 1 << 20, 5000, 0xdeadbeef, {{Tree::kBase, 7, 1, 2}, {Tree::kNow, 8, 3, 4}}, "delta"},
    CopiedContent{8, 1 << 30, {Tree::kBase, 7, 0, std::uint64_t{1} << 40}},
    Hole{8, 5, 6},
    Xattr{8, "user.a", std::string("\0\1", 2)},
    FinishedInode{8, 04755, 1000, 4000000000, 123, {-5, 999'999'999}, {6, 7}, {8, 9}},
    End{},
    Outlook{std::uint64_t{1} << 50},
};

std::string encoded(const Record& record) {
  std::string bytes;
  Encoder out(bytes);
  encode(record, out);
  return bytes;
}

Result<Record> decoded(std::string_view bytes) {
  Decoder in(bytes);
  return decode(in);
}

TEST(TransferRecords, ComeBackAsTheyWere) {
  ASSERT_EQ(kOneOfEach.size(), std::variant_size_v<Record>);
  std::string all;
  Encoder out(all);
  for (const Record& record : kOneOfEach) encode(record, out);

  Decoder in(all);
  for (const Record& record : kOneOfEach) {
    const auto again = decode(in);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->index(), record.index());
    EXPECT_EQ(encoded(*again), encoded(record));
  }
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(TransferRecords, CutAnywhereTheyAreMalformed) {
  for (const Record& record : kOneOfEach) {
    const std::string whole = encoded(record);
    for (std::size_t cut = 0; cut < whole.size(); ++cut)
      EXPECT_FALSE(decoded(std::string_view(whole).substr(0, cut))) << record.index() << ", " << cut;
  }
}

TEST(TransferRecords, WhatNoSenderWritesIsMalformed) {
  const auto is_refused = [](const Record& record) {
    const auto result = decoded(encoded(record));
    return !result && result.error().code() == ErrorCode::kCorruption;
  };
  EXPECT_TRUE(is_refused(NewContent{8, 0, ""}));
  EXPECT_TRUE(is_refused(NewContent{8, 0, std::string(kMaxContentBytes + 1, 'x')}));
  EXPECT_TRUE(is_refused(NewContent{8, UINT64_MAX, "x"}));
  EXPECT_TRUE(is_refused(Hole{8, kMaxFileBytes, 1}));
  EXPECT_TRUE(is_refused(Hole{8, 0, 0}));
  EXPECT_TRUE(is_refused(CopiedContent{8, kMaxFileBytes, {Tree::kNow, 8, 0, 1}}));
  EXPECT_TRUE(is_refused(CopiedContent{8, 0, {Tree::kNow, 8, UINT64_MAX, 1}}));
  EXPECT_TRUE(is_refused(CopiedContent{8, 0, {static_cast<Tree>(2), 8, 0, 1}}));
  EXPECT_TRUE(is_refused(DeltaContent{.inode = 8, .length = 1, .sources = {}, .delta = "d"}));
  EXPECT_TRUE(is_refused(DeltaContent{
      .inode = 8, .length = 1, .sources = std::vector<ContentPlace>(kMaxDeltaSources + 1, {Tree::kNow, 8, 0, 1})}));
  EXPECT_TRUE(is_refused(DeltaContent{.inode = 8, .length = kMaxContentBytes + 1, .sources = {{Tree::kNow, 8, 0, 1}}}));
  EXPECT_TRUE(is_refused(MadeInode{.parent = 1, .name = "x", .inode = 8, .mode = 01000000}));
  EXPECT_TRUE(is_refused(FinishedInode{.inode = 8, .mode = 010000}));
  EXPECT_TRUE(is_refused(FinishedInode{.inode = 8, .size = UINT64_MAX}));
  EXPECT_TRUE(is_refused(Xattr{8, "user.a", std::string(kMaxXattrValue + 1, 'x')}));
  EXPECT_TRUE(is_refused(KnownInode{8, Tree::kNow, 1, std::string(kMaxPathBytes + 1, 'x')}));
  EXPECT_FALSE(decoded(std::string("\x0d", 1))) << "a kind that is not known";
}

}  // namespace
}  // namespace dedupfs::transfer
