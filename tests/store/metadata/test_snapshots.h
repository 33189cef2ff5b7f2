// Metadata with snapshots, and who takes them apart.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"
#include "store/metadata/before_images.h"
#include "store/metadata/metadata.h"
#include "store/metadata/snapshot_reaper.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

inline std::string key_of(std::uint64_t inode, std::string_view rest = {}) {
  std::string key;
  Encoder(key).big_u64(inode);
  key += rest;
  return key;
}

class SnapshotsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = Database::open(folder_at(directory_.path() / "index"), {}).value();
    restart();
  }

  // As after a crash: what is not committed is gone.
  void restart() {
    reaper_.reset();
    metadata_.reset();
    snapshots_ = SnapshotList::load(*database_).value();
    metadata_ = std::make_unique<Metadata>(*database_, *snapshots_);
    reaper_ = std::make_unique<SnapshotReaper>(
        *database_, *metadata_, [this](Family, std::string_view value) { dropped_.emplace_back(value); });
  }

  void write_frozen() {
    Database::Batch batch(*database_);
    ASSERT_TRUE(metadata_->append_to(batch));
    ASSERT_TRUE(database_->write(batch));
    metadata_->committed();
    snapshots_->committed();
  }
  void commit() {
    metadata_->freeze();
    write_frozen();
  }

  TreeNumber take(std::uint64_t end_of_inodes = kEndOfInodes) {
    const TreeNumber number = next_++;
    const SnapshotRecord record{.number = number, .name = std::to_string(number), .end_of_inodes = end_of_inodes};
    metadata_->put(Family::kSnapshots, encode_snapshot_key(record.number), encode_snapshot(record));
    metadata_->freeze();
    snapshots_->put_uncommitted(record);
    EXPECT_FALSE(snapshots_->find(record.number) || snapshots_->find(record.name)) << "before its group is committed";
    EXPECT_EQ(snapshots_->preservation()->number, record.number);
    write_frozen();
    EXPECT_TRUE(snapshots_->find(record.number));
    return record.number;
  }
  void remove(TreeNumber number) {
    SnapshotRecord record = snapshots_->find(number).value();
    record.is_deleted = true;
    metadata_->put(Family::kSnapshots, encode_snapshot_key(number), encode_snapshot(record));
    snapshots_->put(record);
  }
  void sweep() {
    for (int rounds = 0; !reaper_->is_done(); ++rounds) {
      ASSERT_LT(rounds, 100);
      commit();
      while (reaper_->step().value()) {
      }
    }
    commit();
  }
  std::size_t images() { return database_->list(Family::kBeforeImages, {}, {}, SIZE_MAX)->size(); }

  static std::string in_tree(TreeNumber tree, std::string_view key) { return key_in_tree(key, tree); }
  std::optional<std::string> get(TreeNumber tree, Family family, std::string_view key) {
    return metadata_->get(family, in_tree(tree, key)).value();
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SnapshotList> snapshots_;
  std::unique_ptr<Metadata> metadata_;
  std::unique_ptr<SnapshotReaper> reaper_;
  std::vector<std::string> dropped_;
  TreeNumber next_ = 1;
};

}  // namespace dedupfs
