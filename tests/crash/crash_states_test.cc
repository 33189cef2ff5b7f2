// A bounded share of the crash campaign. The program crash-states runs as much as one likes.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "crash/campaign.h"

namespace dedupfs {
namespace {

// Sanitizers make a state ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kShare = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kShare = 20;
#else
constexpr std::uint64_t kShare = 1;
#endif
#else
constexpr std::uint64_t kShare = 1;
#endif

class CrashStates : public testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
  void TearDown() override { spdlog::set_level(spdlog::level::info); }
};

TEST_F(CrashStates, AfterEveryPowerCutTheTreeIsOneThatWasAndNothingAcknowledgedIsLost) {
  std::ostringstream out;
  const CampaignResult result = run_crash_states({.states = 2000 / kShare, .seed = 1}, out);

  EXPECT_GE(result.states, 1500 / kShare);
  EXPECT_EQ(result.violations, 0U) << out.str();
}

TEST_F(CrashStates, WhicheverCallFailsWhatWasAcknowledgedIsThereAndNothingIsHalfDone) {
  std::ostringstream out;
  const CampaignResult result = run_fault_sweep({.states = 100 / kShare, .seed = 1}, out);

  EXPECT_GE(result.states, 100 / kShare);
  EXPECT_EQ(result.violations, 0U) << out.str();
}

TEST_F(CrashStates, AFailedSyncIsNeverTakenForOneThatWorked) {
  std::ostringstream out;
  const CampaignResult result = run_fault_sweep({.states = 100 / kShare, .seed = 1, .fault = "fsync"}, out);

  EXPECT_GE(result.states, 100 / kShare);
  EXPECT_EQ(result.violations, 0U) << out.str();
}

}  // namespace
}  // namespace dedupfs
