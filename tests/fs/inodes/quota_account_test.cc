#include "fs/inodes/quota_account.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using Addition = QuotaAccount::Addition;

bool exceeds(const Result<void>& result) {
  return !result && result.error().code() == ErrorCode::kQuotaExceeded;
}

TEST(QuotaAccount, ChargesUpToItsLimit) {
  QuotaAccount account(1, {.directory = 5, .limits = {.logical_bytes = 100}});
  EXPECT_TRUE(account.charge({.logical_bytes = 100}));
  EXPECT_TRUE(exceeds(account.charge({.logical_bytes = 1})));
  EXPECT_TRUE(account.charge({.logical_bytes = 0})) << "nothing always fits";
  account.change_charge(100, 40);
  EXPECT_FALSE(exceeds(account.check_room({.logical_bytes = 60})));
  EXPECT_TRUE(exceeds(account.check_room({.logical_bytes = 61})));
  EXPECT_EQ(account.status().logical_bytes, 40u);
}

TEST(QuotaAccount, RecordsAreSummedApartFromCharges) {
  QuotaAccount account(1, {.directory = 5, .limits = {}, .logical_bytes = 10});
  EXPECT_TRUE(account.charge({.logical_bytes = 90}));
  account.change_record(0, 50);
  EXPECT_EQ(account.record().logical_bytes, 60u);
  EXPECT_EQ(account.status().logical_bytes, 100u);
  account.change_record(500, 0);
  EXPECT_EQ(account.record().logical_bytes, 0u) << "a wrong sum does not wrap around";
}

TEST(QuotaAccount, CountsFiles) {
  QuotaAccount account(1, {.directory = 5, .limits = {.files = 1}});
  account.add_present_file();
  account.add_present_file();
  EXPECT_TRUE(exceeds(account.add_file())) << "the limit is lower than the use";
  account.drop_file();
  EXPECT_TRUE(exceeds(account.add_file()));
  account.drop_file();
  EXPECT_TRUE(account.add_file());
  EXPECT_EQ(account.status().files, 1u);
}

TEST(QuotaAccount, SumsStayWithinWhatTheirRecordCanHold) {
  QuotaAccount account(1, {.directory = 5, .limits = {}, .logical_bytes = kMaxQuotaLimit, .files = kMaxQuotaLimit});
  account.add_present_file();
  EXPECT_TRUE(account.add_file());
  account.change_record(0, 1);

  const QuotaRecords records{.next = 2, .quotas = {{1, account.record()}}};
  EXPECT_EQ(decode_quotas(encode_quotas(records)).value_or(QuotaRecords()), records);
}

TEST(QuotaAccount, WrittenBytesCountAsStoredUntilTheyAreMeasured) {
  QuotaAccount account(1, {.directory = 5, .limits = {.stored_bytes = 1000}, .stored_bytes = 300});
  EXPECT_TRUE(account.charge({.logical_bytes = 700, .written_bytes = 700}));
  EXPECT_TRUE(exceeds(account.charge({.logical_bytes = 1, .written_bytes = 1})));
  EXPECT_TRUE(account.needs_measurement(1));

  const auto begun = account.begin_measurement();
  account.end_measurement(begun, 350);
  EXPECT_EQ(account.status().stored_bytes, 350u);
  EXPECT_EQ(account.status().unmeasured_bytes, 0u);
  EXPECT_TRUE(account.charge({.logical_bytes = 0, .written_bytes = 650}));
}

TEST(QuotaAccount, WhatIsWrittenDuringAMeasurementStaysUnmeasured) {
  QuotaAccount account(1, {.directory = 5, .limits = {.stored_bytes = 1000}});
  EXPECT_TRUE(account.charge({.logical_bytes = 0, .written_bytes = 100}));
  const auto begun = account.begin_measurement();
  EXPECT_TRUE(account.charge({.logical_bytes = 0, .written_bytes = 200}));
  account.end_measurement(begun, 10);
  EXPECT_EQ(account.status().unmeasured_bytes, 200u);
}

TEST(QuotaAccount, AFullTreeIsNotMeasuredForEachWrite) {
  QuotaAccount account(1, {.directory = 5, .limits = {.stored_bytes = 64'000}});
  account.end_measurement(account.begin_measurement(), 64'000);
  EXPECT_FALSE(account.needs_measurement(1)) << "nothing has changed since";
  EXPECT_TRUE(account.charge({.logical_bytes = 1001}));
  account.change_charge(1001, 0);  // deleted
  EXPECT_TRUE(account.needs_measurement(1));
}

}  // namespace
}  // namespace dedupfs
