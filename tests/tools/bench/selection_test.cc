#include "bench/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chunkers/registry.h"

namespace dedupfs::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> specs(const Result<std::vector<Selected>>& selection) {
  std::vector<std::string> all;
  if (!selection) return {selection.error().message()};
  for (const Selected& selected : *selection) all.push_back(selected.spec);
  return all;
}

TEST(Selection, NamesAreCombinedWithEachAverageAndSpecsAreNot) {
  EXPECT_THAT(specs(select("ram,gear:avg=8k,norm=1,crc", "4k,8k", "scalar")),
              ElementsAre("ram:avg=4k", "ram:avg=8k", "gear:avg=8k,norm=1", "crc:avg=4k", "crc:avg=8k"));
}

TEST(Selection, AParameterSetIsItsSpecComparedAtTheSizeInItsName) {
  const auto selection = select("aemax_8kb", "4k", "scalar");

  ASSERT_TRUE(selection) << selection.error().message();
  ASSERT_EQ(selection->size(), 1u);
  EXPECT_EQ((*selection)[0].spec, "ae-max:avg=8448,max=32768");
  EXPECT_EQ((*selection)[0].avg_bytes, 8192u);
  EXPECT_EQ((*selection)[0].label, "aemax_8kb");
}

TEST(Selection, AllIsEveryNameOfTheRegistry) {
  const auto selection = select("all", "8k", "scalar");

  ASSERT_TRUE(selection) << selection.error().message();
  std::vector<std::string> labels, names;
  for (const Selected& selected : *selection) labels.push_back(selected.label);
  for (const ChunkerInfo& info : chunker_infos()) names.push_back(info.name);
  EXPECT_EQ(labels, names);
}

TEST(Selection, AllLeavesOutWhoCannotHaveTheSize) {
  const auto all = specs(select("all", "128k", "scalar"));

  EXPECT_THAT(all, ::testing::Contains("gear32:avg=128k"));
  EXPECT_THAT(all, ::testing::Not(::testing::Contains("gear16:avg=128k")));
  EXPECT_FALSE(select("all", "1", "scalar"));
  EXPECT_FALSE(select("gear16", "128k", "scalar"));

  std::string left_out;
  ASSERT_TRUE(select("all", "128k", "scalar", [&](const Error& error) { left_out += error.message(); }));
  EXPECT_THAT(left_out, HasSubstr("gear16"));
}

TEST(Selection, TheKeyIsaIsTakenOutOfASpecWhereverItStands) {
  for (const std::string text :
       {"gear:isa=scalar,avg=4k,norm=1", "gear:avg=4k,isa=scalar,norm=1", "gear:avg=4k,norm=1,isa=scalar"}) {
    const auto selection = select(text, "8k", "all");

    ASSERT_THAT(specs(selection), ElementsAre("gear:avg=4k,norm=1")) << text;
    ASSERT_TRUE(selection) << text;
    EXPECT_THAT((*selection)[0].isas, ElementsAre(Isa::kScalar)) << text;
  }
  EXPECT_THAT(specs(select("gear:isa=scalar", "8k", "all")), ElementsAre("gear"));
}

TEST(Selection, AllInstructionSetsAreThoseOfThisCpu) {
  EXPECT_EQ((*select("ram", "8k", "all"))[0].isas, available_isas());
  EXPECT_THAT((*select("ram", "8k", "scalar,scalar"))[0].isas, ElementsAre(Isa::kScalar));
}

TEST(Selection, WhatIsUnknownIsRefusedWithWhatIsAllowed) {
  const auto message = [](const char* algorithms, const char* avgs, const char* isas) {
    const auto selection = select(algorithms, avgs, isas);
    return selection ? "accepted" : selection.error().message();
  };

  EXPECT_THAT(message("geer", "8k", "best"), HasSubstr("unknown chunker 'geer' (known: gear16"));
  EXPECT_THAT(message("geer", "8k", "best"), HasSubstr("parameter sets"));
  EXPECT_THAT(message("gear:avgg=8k", "8k", "best"), HasSubstr("no parameter 'avgg' (allowed: "));
  EXPECT_THAT(message("ram", "8q", "best"), HasSubstr("'8q' is not a size"));
  EXPECT_THAT(message("ram", "8k,,4k", "best"), HasSubstr("--avg: the list has an empty item"));
  EXPECT_THAT(message("ram", "8k", "sse9"), HasSubstr("unknown instruction set 'sse9' (known: scalar"));
  EXPECT_THAT(message("ram,window=5", "8k", "best"), HasSubstr("no spec in front of 'window=5'"));
  EXPECT_THAT(message("avg=8k", "8k", "best"), HasSubstr("no spec in front of 'avg=8k'"));
  EXPECT_THAT(message("gear:isa=mmx", "8k", "best"), HasSubstr("unknown instruction set 'mmx'"));
  const Isa foreign = widest_isa() < Isa::kNeon ? Isa::kNeon : Isa::kAvx2;
  EXPECT_THAT(message("ram", "8k", std::string(name_of(foreign)).c_str()), HasSubstr("this CPU has no "));
}

}  // namespace
}  // namespace dedupfs::bench
