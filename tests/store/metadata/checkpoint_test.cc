#include "store/metadata/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr UuidBytes kUuid{1, 2, 3};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    EXPECT_TRUE(Database::create(folder_at(dir_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(dir_.path() / "index"), {}));
  }

  void put(Family family, const std::vector<KeyValue>& records) {
    Database::Batch batch(*database_);
    for (const auto& [key, value] : records) batch.put(family, key, value);
    ASSERT_TRUE(database_->write(batch));
  }
  Result<void> write() {
    return checkpoints_.write(*database_, [](std::uint64_t) { return true; });
  }
  std::vector<std::string> names() const { return folder_at(dir_.path() / kCheckpointsDirectory)->list().value(); }
  static std::vector<KeyValue> records_of(const Checkpoint& checkpoint, Family family) {
    std::vector<KeyValue> records;
    EXPECT_TRUE(checkpoint.walk(family, [&](std::string_view key, std::string_view value) {
      records.emplace_back(key, value);
      return true;
    }));
    return records;
  }
  std::optional<Checkpoint> newest() {
    damage_.clear();
    auto found = checkpoints_.newest(damage_);
    EXPECT_TRUE(found);
    return std::move(*found);
  }
  static void edit(const Path& path, const std::function<void(std::string&)>& change) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    change(bytes);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  TempDir dir_;
  std::unique_ptr<Database> database_;
  Checkpoints checkpoints_{folder_at(dir_.path()), kUuid};
  std::vector<Error> damage_;
};

std::vector<KeyValue> many_records() {
  std::mt19937 random(1);
  std::vector<KeyValue> records;
  for (int i = 0; i < 50'000; ++i) {
    std::string value(random() % 200, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    records.emplace_back(fmt::format("{:08}", i), value);
  }
  return records;
}

TEST_F(CheckpointTest, GivesBackEveryRecordInOrder) {
  const auto recipes = many_records();
  put(Family::kRecipes, recipes);
  put(Family::kInodes, {{"1", "root"}, {"2", std::string("\0\1", 2)}});
  put(Family::kCounters, {{"empty", ""}});
  ASSERT_TRUE(write());

  const auto checkpoint = newest();
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(records_of(*checkpoint, Family::kRecipes), recipes);
  EXPECT_EQ(records_of(*checkpoint, Family::kInodes), (std::vector<KeyValue>{{"1", "root"}, {"2", {"\0\1", 2}}}));
  EXPECT_EQ(records_of(*checkpoint, Family::kCounters), (std::vector<KeyValue>{{"empty", ""}}));
  EXPECT_TRUE(records_of(*checkpoint, Family::kXattrs).empty());
}

TEST_F(CheckpointTest, LeavesOutWhatContainersAndNamesTell) {
  for (const Family family : {Family::kFingerprints, Family::kChunks, Family::kFeatureIndex, Family::kCookies})
    put(family, many_records());
  ASSERT_TRUE(write());
  EXPECT_LT(checkpoints_.list()->front().bytes, 1000U);
}

TEST_F(CheckpointTest, TheNewestCountsAndTheOldestGo) {
  for (const char* value : {"a", "b", "c", "d"}) {
    put(Family::kInodes, {{"1", value}});
    ASSERT_TRUE(write());
  }
  EXPECT_THAT(names(), ::testing::ElementsAre("0000000003.checkpoint", "0000000004.checkpoint"));
  EXPECT_EQ(records_of(*newest(), Family::kInodes).front().second, "d");
  EXPECT_EQ(newest()->header().number, 4U);
}

TEST_F(CheckpointTest, OneThatWasCancelledLeavesNothing) {
  put(Family::kInodes, many_records());
  ASSERT_TRUE(write());
  const auto cancelled = checkpoints_.write(*database_, [&](std::uint64_t) { return false; });
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(names(), ::testing::ElementsAre("0000000001.checkpoint"));
}

TEST_F(CheckpointTest, SaysHowFarItIs) {
  std::vector<KeyValue> large;
  for (int i = 0; i < 64; ++i) large.emplace_back(std::to_string(1000 + i), std::string(100'000, 'x'));
  put(Family::kInodes, large);
  std::vector<std::uint64_t> records;

  ASSERT_TRUE(checkpoints_.write(*database_, [&](std::uint64_t so_far) {
    records.push_back(so_far);
    return true;
  }));

  ASSERT_GE(records.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(records));
  EXPECT_LT(records.front(), 20U);
  EXPECT_EQ(records.back(), 64U);
}

TEST_F(CheckpointTest, WhatACrashLeftUnfinishedIsInNobodysWay) {
  ASSERT_TRUE(write());
  std::ofstream(dir_.path() / kCheckpointsDirectory / "unfinished") << "half";
  EXPECT_EQ(newest()->header().number, 1U);
  ASSERT_TRUE(write());
  EXPECT_THAT(names(), ::testing::ElementsAre("0000000001.checkpoint", "0000000002.checkpoint"));
}

TEST_F(CheckpointTest, ADamagedOneIsPassedOverForTheOneBeforeIt) {
  put(Family::kInodes, {{"1", "older"}});
  ASSERT_TRUE(write());
  put(Family::kInodes, {{"1", "newer"}});
  ASSERT_TRUE(write());
  const Path path = dir_.path() / kCheckpointsDirectory / checkpoints_.list()->front().name;
  const auto size = std::filesystem::file_size(path);
  for (std::size_t at = 0; at < size; ++at) {
    SCOPED_TRACE(at);
    edit(path, [&](std::string& bytes) { bytes[at] ^= 1; });
    const auto checkpoint = newest();
    ASSERT_TRUE(checkpoint);
    EXPECT_EQ(records_of(*checkpoint, Family::kInodes).front().second, "older");
    ASSERT_EQ(damage_.size(), 1U);
    EXPECT_THAT(damage_.front().message(), ::testing::HasSubstr(path.string()));
    edit(path, [&](std::string& bytes) { bytes[at] ^= 1; });
  }
  EXPECT_EQ(newest()->header().number, 2U);
  for (std::size_t length = size; length-- > 0;) {
    edit(path, [&](std::string& bytes) { bytes.resize(length); });
    EXPECT_EQ(newest()->header().number, 1U) << length;
  }
}

TEST_F(CheckpointTest, ARecordThatNobodyCanHaveWrittenIsNamedAndNotTaken) {
  put(Family::kXattrs, {{"12345678name", std::string(17 << 20, 'x')}});
  const auto written = write();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(written.error().message(), testing::HasSubstr("'xattrs'"));
  EXPECT_THAT(names(), testing::IsEmpty());
}

// So a file of some kilobytes cannot stand for millions of records.
TEST_F(CheckpointTest, OneWhoseRecordsAreNotInOrderIsPassedOver) {
  const auto with_records = [](const std::vector<std::pair<Family, std::string>>& keys) {
    std::string bytes;
    for (const auto& [family, key] : keys) {
      std::string records;
      append_record(records, key, "value");
      bytes += encode_checkpoint_block(family, records);
    }
    return bytes + encode_checkpoint_end(keys.size());
  };
  const auto is_taken = [&](const std::string& blocks) {
    std::filesystem::create_directories(dir_.path() / kCheckpointsDirectory);
    std::ofstream(dir_.path() / kCheckpointsDirectory / checkpoint_name(1), std::ios::binary)
        << encode_checkpoint_header({.number = 1, .volume = kUuid}) << blocks;
    return newest().has_value();
  };
  EXPECT_TRUE(is_taken(with_records({{Family::kInodes, "a"}, {Family::kInodes, "b"}, {Family::kRecipes, "a"}})));
  EXPECT_FALSE(is_taken(with_records({{Family::kInodes, "a"}, {Family::kInodes, "a"}})));
  EXPECT_FALSE(is_taken(with_records({{Family::kInodes, "b"}, {Family::kInodes, "a"}})));
  EXPECT_FALSE(is_taken(with_records({{Family::kRecipes, "a"}, {Family::kInodes, "b"}})));
}

TEST_F(CheckpointTest, OneOfAnotherVolumeIsRefused) {
  ASSERT_TRUE(write());
  Checkpoints others(folder_at(dir_.path()), UuidBytes{9});
  EXPECT_FALSE(*others.newest(damage_));
  EXPECT_THAT(damage_.front().message(), ::testing::HasSubstr("another volume"));
}

TEST_F(CheckpointTest, AVolumeThatNeverHadOneHasNone) {
  EXPECT_FALSE(newest());
  EXPECT_TRUE(damage_.empty());
}

}  // namespace
}  // namespace dedupfs
