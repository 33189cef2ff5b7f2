// The inodes of a volume in a temporary directory, without names, and with no thread that ends groups.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "fs/content/dirty_budget.h"
#include "fs/format/records.h"
#include "fs/inodes/inode_changes.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/inodes/references.h"
#include "fs/test_metadata.h"
#include "fs/transactions/transactions.h"
#include "fs/transactions/writability.h"
#include "store/volume/volume.h"
#include "support/temp_dir.h"

namespace dedupfs {

class InodesOfVolume : public testing::Test {
 protected:
  void put(const InodeRecord& record) {
    metadata_.put(Family::kInodes, encode_inode_key(record.attributes.inode), encode_inode(record));
  }
  void put_file(InodeNumber number) { put(TestMetadata::file_record(number)); }
  // A file without a name, as a crash leaves it.
  void put_orphan(const InodeRecord& file) {
    InodeRecord record = file;
    record.attributes.links = 0;
    put(record);
    metadata_.put(Family::kOrphans, encode_inode_key(record.attributes.inode), "");
  }
  InodeRecord record_of(InodeNumber number) {
    const auto value = metadata_.get(Family::kInodes, encode_inode_key(number)).value();
    EXPECT_TRUE(value) << number;
    return value ? decode_inode(number, *value).value() : InodeRecord();
  }
  std::size_t count(Family family) { return metadata_.list(family, {}, {}, SIZE_MAX)->size(); }

  TempDir directory_;
  std::unique_ptr<Volume> volume_ = [this] {
    EXPECT_TRUE(Volume::create(directory_.path() / "volume", {}));
    VolumeOptions options;
    options.threads = 1;
    return Volume::open(directory_.path() / "volume", options).value();
  }();
  Metadata& metadata_ = volume_->metadata();
  QuotaLedger quotas_{metadata_};
  InodeTable table_{metadata_, 1000, &quotas_};
  std::unique_ptr<InodeNumbers> numbers_ = InodeNumbers::load(metadata_).value();
  DirtyBudget budget_{64 << 20, [] {}};
  Writability writability_{/*read_only=*/false};
  InodeChanges changes_{metadata_, table_, *numbers_, quotas_, budget_, writability_};
  Transactions transactions_{*volume_, writability_, changes_, {}};
  OrphanReaper reaper_{metadata_, volume_->chunks(), table_, *numbers_, quotas_, transactions_};
  References references_{table_, reaper_};
};

}  // namespace dedupfs
