// Sums up what inodes their quotas count, and compares it with the record of the quotas; makes that record for a repaired index.
//
// Threads: one at a time.
#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "fs/check/repair_log.h"
#include "fs/format/quota_records.h"
#include "fs/format/records.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/check/check_report.h"

namespace dedupfs {

class QuotaSums {
 public:
  // The recorded quotas. Reports a record that does not parse.
  Result<void> read(const Database& database, CheckReport& report);
  // Adds an inode. Returns its quota; kNoQuota for a number that no quota has.
  QuotaNumber count(const InodeRecord& record);
  // The quota of the directories that may have a name for an inode with this quota.
  QuotaNumber of_name(InodeNumber inode, QuotaNumber quota) const;
  // Reports sums that differ, and quotas whose directory they do not count.
  void check_sums(CheckReport& report) const;

 private:
  struct Sum {
    std::uint64_t logical_bytes = 0;
    std::uint64_t files = 0;
    bool counts_directory = false;
  };
  QuotaRecords records_;
  std::map<QuotaNumber, Sum> sums_;
};

// The quotas of the first source that has a readable record; the newest source comes first, and null means that there is none. Says what
// is lost. `has_quotas`: the volume had a quota at some time, so there must be a record.
Result<QuotaRecords> find_quotas(const std::vector<const RecordSource*>& sources, bool has_quotas,
                                 const RepairLog& log);

}  // namespace dedupfs
