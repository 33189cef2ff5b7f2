#include "chunkers/parameter_sets.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/size.h"
#include "chunkers/registry.h"

namespace dedupfs {
namespace {

TEST(ParameterSets, AreThoseOfTheGoldenLists) {
  const auto golden = nlohmann::json::parse(std::ifstream(std::string(DEDUPFS_GOLDEN_DIR) + "/chunkers/cuts.json"));

  std::map<std::string, std::string> sets;
  for (const ParameterSet& set : parameter_sets()) sets.emplace(set.name, set.spec);

  EXPECT_EQ(sets, (golden["specs"].get<std::map<std::string, std::string>>()));
  EXPECT_EQ(sets.size(), parameter_sets().size());
}

TEST(ParameterSets, MakeChunkersAndSayInTheirNamesWhatSizeTheyAreComparedAt) {
  for (const ParameterSet& set : parameter_sets()) {
    EXPECT_TRUE(make_chunker(set.spec)) << set.name;
    const auto size = set.name.substr(set.name.rfind('_') + 1);  // "8kb"
    EXPECT_EQ(size, format_size(set.compared_at_bytes) + "b") << set.name;
  }
}

TEST(ParameterSets, AreFoundByTheirWholeNameOnly) {
  ASSERT_NE(find_parameter_set("seq_8kb"), nullptr);
  EXPECT_EQ(find_parameter_set("seq_8kb")->name, "seq_8kb");
  EXPECT_EQ(find_parameter_set("seq_8k"), nullptr);
  EXPECT_EQ(find_parameter_set(""), nullptr);
}

}  // namespace
}  // namespace dedupfs
