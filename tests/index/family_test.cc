#include "index/family.h"

#include <gtest/gtest.h>

#include <vector>

namespace dedupfs {
namespace {

// The names and their order are on disk: docs/format.md.
TEST(Family, NamesNeverChange) {
  const std::vector<std::string_view> expected = {"fingerprints", "chunks",   "features",  "inodes",
                                                  "dirents",      "cookies",  "xattrs",    "recipes",
                                                  "orphans",      "counters", "snapshots", "before_images"};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kFamilyCount; ++i) names.push_back(name_of(static_cast<Family>(i)));

  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace dedupfs
