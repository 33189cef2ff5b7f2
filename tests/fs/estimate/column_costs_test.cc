#include "fs/estimate/column_costs.h"

#include <gtest/gtest.h>

#include "fs/estimate/scratch_settings.h"
#include "support/files.h"

namespace dedupfs {
namespace {

class ColumnCostsTest : public testing::Test {
 protected:
  void add(const std::string& content) {
    const InodeNumber inode = value_of(volume_->make_file(
        std::to_string(files_++), [&](const ScratchVolume::Append& append) { return append(0, bytes_of(content)); }));
    borders_.push_back(inode);
    EXPECT_TRUE(volume_->statistics());  // commits: so a delta is of what comes later
  }
  std::vector<ColumnCost> costs(bool last_is_whole = true) {
    stored_ = value_of(volume_->statistics()).stored_bytes;
    std::vector<InodeNumber> borders = borders_;
    if (last_is_whole) borders.push_back(UINT64_MAX);
    return value_of(column_costs(volume_->filesystem().volume(), borders));
  }

  const std::unique_ptr<ScratchVolume> volume_ = value_of(ScratchVolume::make(scratch_settings()));
  std::vector<InodeNumber> borders_;
  int files_ = 0;
  std::uint64_t stored_ = 0;
};

TEST_F(ColumnCostsTest, EachColumnCostsWhatItWouldAlone) {
  const std::string noise = random_text(2 << 20, 1);
  add(noise);
  add(noise);
  add(random_text(1 << 20, 2));

  const auto found = costs();

  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].bytes, 2 << 20);
  EXPECT_EQ(found[1].bytes, 2 << 20);
  EXPECT_EQ(found[2].bytes, 1 << 20);
  EXPECT_NEAR(found[0].alone, 2 << 20, 50000);
  EXPECT_NEAR(found[1].alone, found[0].alone, 1);
  EXPECT_NEAR(found[0].alone + found[2].alone, static_cast<double>(stored_), 50000);
  for (const ColumnCost& cost : found) EXPECT_NEAR(cost.saved, 0, 20000);
}

TEST_F(ColumnCostsTest, WhatADeltaFromAnotherColumnSavesIsToldApart) {
  std::string noise = random_text(4 << 20, 1);
  add(noise);
  for (std::size_t at = 1000; at < noise.size(); at += 20000) noise.replace(at, 10, "0123456789");
  add(noise);

  const auto found = costs();

  EXPECT_NEAR(found[0].saved, 0, 20000);
  EXPECT_GT(found[1].saved, 200'000);
  EXPECT_NEAR(found[1].alone, 4 << 20, 300000);
}

TEST_F(ColumnCostsTest, AColumnThatDidNotEndIsLeftOut) {
  add(random_text(1 << 20, 1));
  add(random_text(1 << 20, 2));

  EXPECT_EQ(costs(false).size(), 1u);
  EXPECT_TRUE(value_of(column_costs(volume_->filesystem().volume(), {})).empty());
}

}  // namespace
}  // namespace dedupfs
