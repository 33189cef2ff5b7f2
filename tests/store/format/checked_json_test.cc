#include "store/format/checked_json.h"

#include <gtest/gtest.h>

#include "store/format/format.h"
#include "support/memory_disk.h"

namespace dedupfs {
namespace {

std::optional<Error> judge_any(std::string_view json) {
  const auto object = decode_checked_json(json);
  return object ? std::nullopt : std::optional(object.error());
}

TEST(CheckedJson, ReadsBackAndRefusesWhatWasChanged) {
  const std::string text = encode_checked_json({{"name", "value"}, {"number", 7}});
  const auto object = decode_checked_json(text);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->at("number"), 7);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    EXPECT_FALSE(decode_checked_json(changed)) << i;
  }
  EXPECT_FALSE(decode_checked_json(""));
}

TEST(CheckedJson, MembersOfTheWrongKindAreNamed) {
  const nlohmann::json object = {{"text", "t"}, {"number", 300}, {"list", {"a", 1}}, {"huge", UINT64_MAX}};
  JsonMembers members(object);
  EXPECT_EQ(members.text("text"), "t");
  EXPECT_EQ(members.integer<std::uint32_t>("number", 0, 300), 300u);
  EXPECT_FALSE(members.error());
  members.integer<std::uint32_t>("number", 0, 299);
  EXPECT_NE(members.error()->message().find("number"), std::string::npos);
  JsonMembers others(object);
  others.texts("list");
  EXPECT_TRUE(others.error());
  JsonMembers last(object);
  last.integer<std::int64_t>("huge", 0, INT64_MAX);
  EXPECT_TRUE(last.error());
}

TEST(CheckedJson, TheFirstWholeCopyIsReadAndRepairsTheOther) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto folder = disk->open_root("/").value();
  EXPECT_EQ(read_copies(*folder, judge_any).error().code(), ErrorCode::kNotFound);
  const std::string text = encode_checked_json({{"name", "value"}});
  ASSERT_TRUE(write_copies(*folder, text));
  EXPECT_TRUE(damage_of_copies(*folder, judge_any).empty());
  EXPECT_FALSE(repair_copies(*folder, judge_any).value().written);
  ASSERT_TRUE(folder->open(kSuperblockFile, Backing::Mode::kReadWrite).value()->truncate(5));
  EXPECT_EQ(read_copies(*folder, judge_any).value(), text);
  EXPECT_EQ(damage_of_copies(*folder, judge_any).size(), 1u);
  const CopiesRepair repair = repair_copies(*folder, judge_any).value();
  EXPECT_EQ(repair.written, std::string(kSuperblockFile));
  EXPECT_EQ(repair.damage.size(), 1u);
  EXPECT_TRUE(damage_of_copies(*folder, judge_any).empty());
}

TEST(CheckedJson, WhatNobodyReadsIsNotWritten) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto folder = disk->open_root("/").value();
  const std::string text = encode_checked_json({{"name", "value"}});
  ASSERT_TRUE(write_copies(*folder, text));

  const auto written = write_copies(*folder, encode_checked_json({{"name", std::string(kMaxSuperblockBytes, 'x')}}));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(read_copies(*folder, judge_any).value(), text);
}

TEST(CheckedJson, ANewerFormatIsNamed) {
  const nlohmann::json newer = {{"magic", kSuperblockMagic}, {"format_version", 99}};
  EXPECT_EQ(read_clear_features(newer).error().code(), ErrorCode::kVersion);
  EXPECT_EQ(read_clear_features({{"magic", "another"}}).error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
