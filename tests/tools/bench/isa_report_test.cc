#include "bench/isa_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dedupfs::bench {
namespace {

using ::testing::HasSubstr;

class ForcedIsa {
 public:
  explicit ForcedIsa(const char* isa) { ::setenv("DEDUPFS_ISA", isa, 1); }
  ~ForcedIsa() { ::unsetenv("DEDUPFS_ISA"); }
};

TEST(IsaReport, EveryKernelHasADefinitionAndPassesItsSelfTest) {
  const auto report = isa_report();

  ASSERT_TRUE(report) << report.error().message();
  for (const SlotReport& slot : report->slots) {
    ASSERT_FALSE(slot.own.empty()) << slot.slot;
    EXPECT_EQ(slot.own.front().first, Isa::kScalar) << slot.slot;
    for (const auto& [isa, passes] : slot.own) EXPECT_TRUE(passes) << slot.slot << ' ' << name_of(isa);
    const auto widest =
        std::find_if(slot.own.rbegin(), slot.own.rend(), [](const auto& own) { return own.first <= widest_isa(); });
    EXPECT_EQ(slot.served_by, widest->first) << slot.slot;
  }
}

TEST(IsaReport, AForcedInstructionSetServesAndIsShown) {
  const ForcedIsa forced("scalar");

  const auto report = isa_report();

  ASSERT_TRUE(report) << report.error().message();
  for (const SlotReport& slot : report->slots) EXPECT_EQ(slot.served_by, Isa::kScalar) << slot.slot;
  EXPECT_THAT(format_isa_report(*report), HasSubstr("DEDUPFS_ISA: scalar (forced)"));
  EXPECT_EQ(isa_report_json(*report)["forced"], "scalar");
}

TEST(IsaReport, AnUnknownForcedInstructionSetIsAnError) {
  const ForcedIsa forced("mmx");

  const auto report = isa_report();

  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("DEDUPFS_ISA: unknown instruction set 'mmx'"));
}

TEST(IsaReport, JsonNamesTheCpuItsInstructionSetsAndEachKernel) {
  const auto report = isa_report();
  ASSERT_TRUE(report) << report.error().message();

  const nlohmann::json json = isa_report_json(*report);

  EXPECT_TRUE(json["forced"].is_null());
  EXPECT_EQ(json["available"].size(), available_isas().size());
  EXPECT_EQ(json["available"][0], "scalar");
  EXPECT_EQ(json["widest"], name_of(widest_isa()));
  ASSERT_EQ(json["kernels"].size(), report->slots.size());
  EXPECT_EQ(json["kernels"][0]["kernel"], "max_byte");
  EXPECT_EQ(json["kernels"][0]["passes_self_test"]["scalar"], true);
  EXPECT_EQ(json["kernels"].back()["kernel"], "sha256");
}

}  // namespace
}  // namespace dedupfs::bench
