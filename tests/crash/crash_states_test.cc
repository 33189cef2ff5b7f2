// A bounded share of the crash campaign. The program crash-states runs as much as one likes.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "crash/campaign.h"
#include "support/share.h"

namespace dedupfs {
namespace {

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

TEST_F(CrashStates, AnEncryptedVolumeKeepsAsMuchAsAPlainOne) {
  std::ostringstream out;
  const CampaignResult result = run_crash_states({.states = 600 / kShare, .seed = 1, .encrypted = true}, out);
  EXPECT_GE(result.states, 500 / kShare);
  EXPECT_EQ(result.violations, 0U) << out.str();

  const CampaignResult faults = run_fault_sweep({.states = 60 / kShare, .seed = 1, .encrypted = true}, out);
  EXPECT_GE(faults.states, 60 / kShare);
  EXPECT_EQ(faults.violations, 0U) << out.str();
}

TEST_F(CrashStates, ABucketAloneGivesAStateThatWasAndNothingShippedIsLost) {
  std::ostringstream out;
  const CampaignResult plain = run_bucket_states({.states = 700 / kShare, .seed = 1}, out);
  EXPECT_GE(plain.states, 700 / kShare);
  EXPECT_EQ(plain.violations, 0U) << out.str();

  const CampaignResult encrypted = run_bucket_states({.states = 300 / kShare, .seed = 1, .encrypted = true}, out);
  EXPECT_GE(encrypted.states, 300 / kShare);
  EXPECT_EQ(encrypted.violations, 0U) << out.str();
}

TEST_F(CrashStates, WhoeverReceivesASnapshotHasItAsAWholeAndGoesOn) {
  std::ostringstream out;
  const CampaignResult plain = run_receive_states({.states = 80 / kShare, .seed = 1}, out);
  EXPECT_EQ(plain.states, 80 / kShare);
  EXPECT_EQ(plain.violations, 0U) << out.str();

  const CampaignResult encrypted = run_receive_states({.states = 40 / kShare, .seed = 4, .encrypted = true}, out);
  EXPECT_EQ(encrypted.states, 40 / kShare);
  EXPECT_EQ(encrypted.violations, 0U) << out.str();
}

TEST_F(CrashStates, WhoeverChangesAnEncryptedVolumeWithoutTheKeyMakesNobodyReadOtherContent) {
  // One takes a seventh of a second with the address sanitizer, and less than a fortieth without.
  const std::uint64_t attacks = (kSanitized ? 1 : 2) * attack_pairs();  // each kind of attack on each kind of file
  std::ostringstream out;
  const CampaignResult result = run_attacks({.states = attacks, .seed = 1}, out);

  EXPECT_EQ(result.states, attacks);
  EXPECT_EQ(result.violations, 0U) << out.str();
  EXPECT_NE(out.str().find("\nkey header: "), std::string::npos) << out.str();
}

TEST_F(CrashStates, AFailedSyncIsNeverTakenForOneThatWorked) {
  std::ostringstream out;
  const CampaignResult result = run_fault_sweep({.states = 100 / kShare, .seed = 1, .fault = "fsync"}, out);

  EXPECT_GE(result.states, 100 / kShare);
  EXPECT_EQ(result.violations, 0U) << out.str();
}

}  // namespace
}  // namespace dedupfs
