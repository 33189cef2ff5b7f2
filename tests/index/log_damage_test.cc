#include "index/log_damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/coding.h"
#include "index/masked_crc32c.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr std::size_t kBlock = 32 << 10;
enum : std::uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// As RocksDB writes it.
std::string log_record(std::uint8_t type, std::string_view content) {
  const std::string checked = std::string(1, static_cast<char>(type)) + std::string(content);
  std::string record;
  Encoder encoder(record);
  encoder.u32(masked_crc32c(bytes_of(checked)));
  encoder.u16(static_cast<std::uint16_t>(content.size()));
  return record + checked;
}
std::string batch(std::uint64_t first, std::uint32_t count, std::string_view changes = "changes") {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.u64(first);
  encoder.u32(count);
  return bytes + std::string(changes);
}
std::string whole(std::uint64_t first, std::uint32_t count = 1) {
  return log_record(kWhole, batch(first, count));
}
std::string damaged(std::string record) {
  record.back() ^= 1;
  return record;
}

class LogDamageTest : public testing::Test {
 protected:
  std::uint64_t changes_behind_damage_of(const std::vector<std::string>& logs) const {
    for (std::size_t i = 0; i < logs.size(); ++i)
      std::ofstream(directory_.path() / (std::to_string(9 + i) + ".log"), std::ios::binary) << logs[i];
    const auto changes = changes_behind_damage(*folder_at(directory_.path()));
    EXPECT_TRUE(changes) << changes.error().message();
    return changes ? *changes : 0;
  }

  TempDir directory_;
};

const std::string kBlockThatGoesOn = log_record(kFirst, batch(1, 1, std::string(kBlock - 7 - 12, 'x')));

TEST_F(LogDamageTest, AWholeLogHasNone) {
  EXPECT_EQ(changes_behind_damage_of({}), 0U);
  EXPECT_EQ(changes_behind_damage_of({""}), 0U);
  EXPECT_EQ(changes_behind_damage_of({whole(1) + whole(2), whole(3)}), 0U);
  EXPECT_EQ(changes_behind_damage_of({kBlockThatGoesOn + log_record(kLast, "y") + whole(2)}), 0U);
  const std::string nearly = log_record(kWhole, batch(1, 1, std::string(kBlock - 7 - 12 - 6, 'x')));
  EXPECT_EQ(changes_behind_damage_of({nearly + std::string(6, '\0') + whole(2)}), 0U);
}

TEST_F(LogDamageTest, ATornEndHasNone) {
  const std::string last = whole(2);
  for (std::size_t kept = 1; kept < last.size(); ++kept)
    EXPECT_EQ(changes_behind_damage_of({whole(1) + last.substr(0, kept)}), 0U) << kept;
  EXPECT_EQ(changes_behind_damage_of({whole(1) + damaged(last)}), 0U);
  EXPECT_EQ(changes_behind_damage_of({whole(1) + std::string(4096, '\0')}), 0U);
  // The middle and the end of a batch of which the begin was not written.
  EXPECT_EQ(changes_behind_damage_of({whole(1) + std::string(100, '\0') + log_record(kMiddle, batch(3, 1)) +
                                      log_record(kLast, batch(4, 1))}),
            0U);
}

TEST_F(LogDamageTest, WholeBatchesBehindABadRecordAreCounted) {
  EXPECT_EQ(changes_behind_damage_of({whole(1) + damaged(whole(2)) + whole(3, 5)}), 5U);
  EXPECT_EQ(changes_behind_damage_of({damaged(whole(1)) + whole(2) + whole(3)}), 2U);
  EXPECT_EQ(changes_behind_damage_of({damaged(whole(1)) + log_record(kFirst, batch(2, 1))}), 1U);
  EXPECT_EQ(changes_behind_damage_of({kBlockThatGoesOn + damaged(log_record(kLast, "y")) + whole(2)}), 1U);
}

TEST_F(LogDamageTest, TheyAreCountedWhateverTheHeaderOfTheBadRecordSays) {
  for (std::size_t bit = 0; bit < 7 * 8; ++bit) {
    std::string bad = whole(2);
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(changes_behind_damage_of({whole(1) + bad + whole(3)}), 1U) << bit;
  }
  EXPECT_EQ(changes_behind_damage_of({whole(1) + std::string(whole(2).size(), '\0') + whole(3)}), 1U);
}

TEST_F(LogDamageTest, TheyAreCountedInLaterBlocksAndLogs) {
  const std::string bad = damaged(kBlockThatGoesOn);
  EXPECT_EQ(changes_behind_damage_of({bad + log_record(kLast, "y") + whole(2)}), 1U);
  EXPECT_EQ(changes_behind_damage_of({bad + bad + whole(3)}), 1U);
  EXPECT_EQ(changes_behind_damage_of({whole(1) + damaged(whole(2)), whole(3)}), 1U) << "9.log is before 10.log";
}

TEST_F(LogDamageTest, WhatCanBeNoLaterBatchIsPassedOver) {
  EXPECT_EQ(changes_behind_damage_of({damaged(whole(1)) + log_record(kWhole, "short")}), 0U);
  EXPECT_EQ(changes_behind_damage_of({whole(7) + damaged(whole(8)) + whole(7)}), 0U);
}

// A hole costs whoever made it nothing, and whoever reads it a minute.
TEST_F(LogDamageTest, ALogThatIsLargerThanAnyIsNotRead) {
  const auto log = directory_.path() / "1.log";
  std::ofstream(log) << whole(1);
  std::filesystem::resize_file(log, std::uintmax_t{1} << 40);

  const auto changes = changes_behind_damage(*folder_at(directory_.path()));

  ASSERT_FALSE(changes);
  EXPECT_THAT(changes.error().message(), testing::HasSubstr(log.string()));
}

TEST_F(LogDamageTest, ALogIsSoundUpToItsFirstBadRecord) {
  const auto end_of = [this](const std::string& log) {
    std::ofstream(directory_.path() / "1.log", std::ios::binary) << log;
    return sound_end(*folder_at(directory_.path())->open("1.log", Backing::Mode::kRead).value()).value();
  };
  const std::string two = whole(1) + whole(2);
  EXPECT_EQ(end_of(""), 0U);
  EXPECT_EQ(end_of(two), two.size());
  EXPECT_EQ(end_of(two + std::string(100'000, '\0')), two.size()) << "room for more";
  EXPECT_EQ(end_of(two + whole(3).substr(0, 9)), two.size());
  EXPECT_EQ(end_of(two + damaged(whole(3)) + whole(4)), two.size());
  const std::string block = log_record(kFirst, batch(1, 1, std::string(kBlock - 19, 'x')));
  ASSERT_EQ(block.size(), kBlock);
  EXPECT_EQ(end_of(block + log_record(kLast, "y") + damaged(whole(2))), kBlock + 8);
}

TEST_F(LogDamageTest, ALogThatIsNoFileIsRefused) {
  std::filesystem::create_symlink("/dev/zero", directory_.path() / "1.log");

  EXPECT_EQ(changes_behind_damage(*folder_at(directory_.path())).error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
