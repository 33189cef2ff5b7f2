#include "fs/check/quota_check.h"

#include <gmock/gmock.h>

#include "damaged_namespace.h"
#include "fs/format/quota_records.h"
#include "index/bulk_writer.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

QuotaRecords quota_of(InodeNumber directory) {
  return {.next = 5, .quotas = {{4, {.directory = directory, .limits = {.files = 9}, .logical_bytes = 1, .files = 1}}}};
}

TEST(QuotaCheck, SumsAreComparedWithTheRecord) {
  EmptyIndex index;
  {
    BulkWriter writer(*index);
    ASSERT_TRUE(ok(writer.put(Family::kCounters, kQuotasCounter, encode_quotas(quota_of(3)))));
    ASSERT_TRUE(ok(writer.flush()));
  }
  std::vector<std::string> lines;
  CheckReport report([&](const std::string& line) { lines.push_back(line); });
  QuotaSums sums;
  ASSERT_TRUE(ok(sums.read(*index, report)));
  InodeRecord file;
  file.attributes = {.inode = 8, .mode = S_IFREG | 0644, .links = 1, .size = 70, .data_bytes = 70};
  file.quota = 4;
  EXPECT_EQ(sums.count(file), 4u);
  EXPECT_EQ(sums.of_name(8, 4), 4u);
  EXPECT_EQ(sums.of_name(3, 4), kNoQuota) << "the top has its name outside";
  file.quota = 2;
  EXPECT_EQ(sums.count(file), kNoQuota) << "no quota has this number";
  sums.check_sums(report);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("does not count this directory"), HasSubstr("1 bytes recorded, 70 found")));
}

// As inodes of a damaged volume may say it.
TEST(QuotaCheck, SumsThatNoRecordCanHoldStopAtItsEnd) {
  RecordsInMemory records;
  ChunkTable chunks;
  EmptyIndex index;
  NamespaceRepairScope scope;
  scope.quotas = quota_of(kRootInode);
  records.put_inode(kRootInode, S_IFDIR | 0755);
  for (const InodeNumber orphan : {8U, 9U}) {  // their content is not looked at
    records.put_inode(orphan, S_IFREG | 0644, [](InodeRecord& record) {
      record.attributes.links = 0;
      record.attributes.data_bytes = kMaxFileBytes - 1;
      record.quota = 4;
    });
    records.put(Family::kOrphans, encode_inode_key(orphan), "");
  }

  ASSERT_TRUE(ok(repair_namespace(records, chunks, *index, index.log(), scope)));

  const auto repaired = decode_quotas(index.get(Family::kCounters, std::string(kQuotasCounter)).value());
  ASSERT_TRUE(ok(repaired));
  EXPECT_EQ(repaired->quotas.at(4).logical_bytes, kMaxQuotaLimit);
  std::vector<std::string> lines;
  CheckReport report([&](const std::string& line) { lines.push_back(line); });
  QuotaSums sums;
  ASSERT_TRUE(ok(sums.read(*index, report)));
  for (const InodeNumber inode : {kRootInode, InodeNumber{8}, InodeNumber{9}}) sums.count(index.inode(inode));
  sums.check_sums(report);
  EXPECT_THAT(lines, IsEmpty());
}

struct QuotaSources : testing::Test {
  RecordsInMemory old_index, checkpoint;
  EmptyIndex index;

  QuotaRecords find(bool has_quotas = true) {
    return value_of(find_quotas({&old_index, &checkpoint}, has_quotas, index.log()));
  }
};

TEST_F(QuotaSources, TheNewestReadableRecordCounts) {
  old_index.put(Family::kCounters, std::string(kQuotasCounter), encode_quotas(quota_of(3)));
  checkpoint.put(Family::kCounters, std::string(kQuotasCounter), encode_quotas(quota_of(9)));
  EXPECT_EQ(find(), quota_of(3));
  EXPECT_THAT(index.lost, IsEmpty());

  old_index.put(Family::kCounters, std::string(kQuotasCounter), "\xff");
  EXPECT_EQ(find(), quota_of(9));
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("the newest record of quotas is lost")));
}

TEST_F(QuotaSources, ALossIsSaidOnlyIfThereWasAQuota) {
  EXPECT_EQ(find(false), QuotaRecords());
  EXPECT_THAT(index.lost, IsEmpty());
  find(true);
  EXPECT_THAT(index.lost, ElementsAre(HasSubstr("the record of quotas is lost")));
}

}  // namespace
}  // namespace dedupfs
