#include "index/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

TEST(Counters, NumbersComeBackFromTheIndex) {
  TempDir directory;
  ASSERT_TRUE(Database::create(folder_at(directory.path() / "index")));
  const auto index = std::move(*Database::open(folder_at(directory.path() / "index"), {.memory_bytes = 8 << 20}));
  Database::Batch batch(*index);
  batch.put(Family::kCounters, "small", encode_number(7));
  batch.put(Family::kCounters, "large", encode_number(~std::uint64_t{0}));
  batch.put(Family::kCounters, "short", "1234567");
  ASSERT_TRUE(index->write(batch));

  EXPECT_EQ(get_number(*index, "small").value(), 7u);
  EXPECT_EQ(get_number(*index, "large").value(), ~std::uint64_t{0});
  EXPECT_EQ(get_number(*index, "absent").value(), std::nullopt);
  const auto damaged = get_number(*index, "short");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(damaged.error().message(), testing::HasSubstr("short"));
}

TEST(CommittedNumber, IsStoredWhenItChangedAndAgainAfterAFailure) {
  TempDir directory;
  ASSERT_TRUE(Database::create(folder_at(directory.path() / "index")));
  const auto index = std::move(*Database::open(folder_at(directory.path() / "index"), {.memory_bytes = 8 << 20}));
  std::uint64_t value = 3;
  CommittedNumber number(
      "it", [&] { return value; }, 3);
  const auto appends = [&] {
    Database::Batch batch(*index);
    EXPECT_TRUE(number.append_to(batch));
    return !batch.empty();
  };

  EXPECT_FALSE(appends());
  number.committed();
  value = 4;
  EXPECT_TRUE(appends());
  number.failed(CommitFailure::kMayBeRetried);
  EXPECT_TRUE(appends());
  value = 5;  // after the batch was made
  number.committed();
  EXPECT_TRUE(appends());
  number.committed();
  EXPECT_FALSE(appends());
}

TEST(Counters, EightBytesAreANumberAndNothingElseIs) {
  EXPECT_EQ(decode_number("it", std::string("\x01\x02\0\0\0\0\0\0", 8)).value(), 0x0201u);
  for (const std::size_t length : {0u, 1u, 7u, 9u, 16u}) EXPECT_FALSE(decode_number("it", std::string(length, 'x')));
}

}  // namespace
}  // namespace dedupfs
