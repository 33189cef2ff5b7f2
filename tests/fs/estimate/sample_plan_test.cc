#include "fs/estimate/sample_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "fs/test_filesystem.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class SamplePlanTest : public testing::Test {
 protected:
  void file(const Path& name, std::size_t bytes) const {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    overwrite(dir_.path() / name, std::string(bytes, 'x'));
  }
  SamplePlan plan(SamplePlan::Settings settings = {}) const {
    SamplePlan plan(tree_, settings);
    EXPECT_TRUE(ok(tree_.walk(plan)));
    return plan;
  }

  const TempDir dir_;
  const SourceTree tree_{{.roots = {dir_.path()}}};
};

TEST_F(SamplePlanTest, CountsAllFiles) {
  file("a/small", 1000);
  file("large", 5 << 20);
  std::filesystem::create_hard_link(dir_.path() / "large", dir_.path() / "same");
  std::filesystem::create_symlink("nowhere", dir_.path() / "link");

  const SamplePlan found = plan();

  EXPECT_EQ(found.totals().files, 2u);
  EXPECT_EQ(found.totals().directories, 2u);
  EXPECT_EQ(found.totals().symlinks, 1u);
  EXPECT_EQ(found.totals().logical_bytes, (5u << 20) + 1000);
  EXPECT_TRUE(found.is_whole());
}

TEST_F(SamplePlanTest, TheColumnsHaveEachPartOfEachFileOnce) {
  file("a/dump-1", 9 << 20);
  file("a/dump-2", 9 << 20);
  for (int i = 0; i < 100; ++i) file("b/small" + std::to_string(i), 5000);

  std::set<std::pair<std::string, std::uint32_t>> parts;
  std::uint64_t bytes = 0;
  const SamplePlan found = plan();
  for (const auto& [key, column] : found.columns())
    for (const SamplePiece& piece : column) {
      EXPECT_TRUE(parts.emplace(piece.relative, piece.part.index).second);
      bytes += piece.bytes;
    }
  EXPECT_NEAR(static_cast<double>(bytes), (18 << 20) + 500000, 100);
}

TEST_F(SamplePlanTest, AColumnHasTheSamePartOfAllVersions) {
  for (const char* const name : {"dump-1.rdb", "dump-2.rdb", "dump-10.rdb"}) file(name, 8 << 20);
  for (const char* const name : {"2026-01-01/data", "2026-01-02/data"}) file(name, 8 << 20);
  file("other", 8 << 20);

  const SamplePlan found = plan();
  for (const auto& [key, column] : found.columns()) {
    const bool is_dump = column[0].relative.starts_with("dump");
    const bool is_data = column[0].relative.ends_with("data");
    EXPECT_EQ(column.size(), is_dump ? 3u : is_data ? 2u : 1u);
    for (const SamplePiece& piece : column) EXPECT_EQ(piece.part.index, column[0].part.index);
  }
}

TEST_F(SamplePlanTest, TheSeedDecidesTheOrder) {
  file("large", 40 << 20);
  const auto first = plan({.seed = 1}).columns();
  const auto same = plan({.seed = 1}).columns();
  const auto other = plan({.seed = 2}).columns();
  const auto order = [](const auto& columns) {
    std::vector<std::uint32_t> parts;
    for (const auto& [key, column] : columns) parts.push_back(column[0].part.index);
    return parts;
  };

  EXPECT_EQ(order(first), order(same));
  EXPECT_NE(order(first), order(other));
}

TEST_F(SamplePlanTest, KeepsTheFirstColumnsOfTheOrderIfThereAreTooMany) {
  file("large", 40 << 20);
  const SamplePlan all = plan();
  const SamplePlan some = plan({.max_bytes = 5 * (sizeof(SamplePiece) + std::string("large").capacity() + 64)});

  EXPECT_FALSE(some.is_whole());
  EXPECT_EQ(some.columns().size(), 5u);
  EXPECT_EQ(some.columns().begin()->first, all.columns().begin()->first);
  EXPECT_EQ(some.totals().data_bytes, 40u << 20);
}

TEST(GenericName, IsTheSameForTheVersionsOfAName) {
  EXPECT_EQ(generic_name("dump-1.rdb"), "dump-#.rdb");
  EXPECT_EQ(generic_name("2026-11-25"), "#-#-#");
  EXPECT_EQ(generic_name("plain"), "plain");
}

}  // namespace
}  // namespace dedupfs
