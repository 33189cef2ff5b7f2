#include "mount/reports/quota_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr QuotaStatus kQuota{.directory = 12,
                             .limits = {.logical_bytes = 4 << 20, .files = 10},
                             .logical_bytes = 1 << 20,
                             .files = 3,
                             .stored_bytes = 5,
                             .unmeasured_bytes = 6};

TEST(QuotaReport, HasAllThatIsKnown) {
  EXPECT_EQ(quotas_json({kQuota}, {{12, "alice"}}), nlohmann::json::array({{{"inode", 12},
                                                                            {"path", "alice"},
                                                                            {"logical_bytes", 1 << 20},
                                                                            {"logical_limit_bytes", 4 << 20},
                                                                            {"stored_bytes", 5},
                                                                            {"unmeasured_bytes", 6},
                                                                            {"stored_limit_bytes", nullptr},
                                                                            {"files", 3},
                                                                            {"files_limit", 10}}}));
}

TEST(QuotaReport, TheScreenNamesTheTreeAndItsLimits) {
  EXPECT_THAT(quotas_screen(quotas_json({kQuota}, {{12, "alice"}})),
              AllOf(HasSubstr("Quota of alice\n"), HasSubstr("logical  1.00 MiB of 4.00 MiB (25 %)\n"),
                    HasSubstr("files    3 of 10 (30 %)\n"), Not(HasSubstr("stored"))));
}

TEST(QuotaReport, WithoutPathsItNamesTheInode) {
  QuotaStatus quota = kQuota;
  quota.limits.stored_bytes = 0;
  EXPECT_THAT(quotas_screen(quotas_json({quota})),
              AllOf(HasSubstr("Quota of inode 12\n"), HasSubstr("5 B of 0 B (100 %)\n"),
                    HasSubstr("6 B written since stored bytes were measured\n")));
  EXPECT_EQ(quotas_screen(quotas_json({})), "");
}

}  // namespace
}  // namespace dedupfs
