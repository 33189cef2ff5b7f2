#include "fs/format/quota_records.h"

#include <gtest/gtest.h>

#include "fs/format/records.h"

namespace dedupfs {
namespace {

QuotaRecords two_quotas() {
  return {.next = 9,
          .quotas = {{2,
                      {.directory = 7,
                       .limits = {.logical_bytes = 0, .stored_bytes = kMaxQuotaLimit, .files = {}},
                       .logical_bytes = 5,
                       .files = 3}},
                     {8,
                      {.directory = 1,
                       .limits = {.logical_bytes = {}, .stored_bytes = {}, .files = 4},
                       .stored_bytes = 6,
                       .unmeasured_bytes = 70'000}}}};
}

TEST(QuotaRecords, AreReadAsTheyWereWritten) {
  for (const QuotaRecords& records : {QuotaRecords(), two_quotas()}) {
    const auto decoded = decode_quotas(encode_quotas(records));
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, records);
  }
}

TEST(QuotaRecords, DamageIsRefused) {
  const std::string sound = encode_quotas(two_quotas());
  for (std::size_t length = 0; length < sound.size(); ++length)
    EXPECT_NE(decode_quotas(sound.substr(0, length)).value_or(QuotaRecords()), two_quotas()) << length;
  QuotaRecords beyond = two_quotas();
  beyond.next = 8;  // the number of a quota that is there
  EXPECT_FALSE(decode_quotas(encode_quotas(beyond)));
  QuotaRecords without_directory = two_quotas();
  without_directory.quotas[2].directory = 0;
  EXPECT_FALSE(decode_quotas(encode_quotas(without_directory)));
  EXPECT_FALSE(decode_quotas("\x02" + sound.substr(1))) << "another version";
}

TEST(QuotaRecords, ThereAreOnlySoMany) {
  QuotaRecords records{.next = kMaxQuotas + 2, .quotas = {}};
  for (QuotaNumber number = 1; number <= kMaxQuotas; ++number)
    records.quotas.emplace(number, QuotaRecord{.directory = number, .limits = {.files = 1}});
  EXPECT_TRUE(decode_quotas(encode_quotas(records)));
  records.quotas.emplace(kMaxQuotas + 1, QuotaRecord{.directory = 1, .limits = {.files = 1}});
  const auto decoded = decode_quotas(encode_quotas(records));
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().message().find("more than 10000"), std::string::npos) << decoded.error().message();
}

TEST(QuotaRecords, ARecordOfAnInodeKeepsItsQuota) {
  InodeRecord record;
  record.attributes.inode = 12;
  record.attributes.mode = 0100644;
  record.attributes.links = 1;
  const std::string without = encode_inode(record);
  record.quota = 300;
  const std::string with = encode_inode(record);
  EXPECT_EQ(with.size(), without.size() + 2) << "inodes without a quota have no field for it";
  EXPECT_EQ(decode_inode(12, with).value(), record);
  EXPECT_FALSE(decode_inode(12, with.substr(0, 2))) << "cut off";
}

}  // namespace
}  // namespace dedupfs
