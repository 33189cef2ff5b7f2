// The metadata of a volume over an index in a temporary directory: all that a class needs that keeps records.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "index/database.h"
#include "store/metadata/metadata.h"
#include "store/metadata/snapshot_list.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

class TestMetadata {
 public:
  TestMetadata() {
    const auto folder = [this] { return folder_at(directory_.path() / "index"); };
    EXPECT_TRUE(Database::create(folder()));
    database_ = Database::open(folder(), {}).value();
    snapshots_ = SnapshotList::load(*database_).value();
    crash();
  }

  Metadata& operator*() { return *metadata_; }
  Metadata* operator->() { return metadata_.get(); }
  Database& database() { return *database_; }
  SnapshotList& snapshots() { return *snapshots_; }

  void commit() {
    metadata_->freeze();
    Database::Batch batch(*database_);
    ASSERT_TRUE(metadata_->append_to(batch));
    ASSERT_TRUE(database_->write(batch));
    metadata_->committed();
  }
  // What was not committed is lost. References to the metadata are void.
  void crash() { metadata_ = std::make_unique<Metadata>(*database_, *snapshots_); }

  // The record of a regular file with one link, or what it becomes.
  static InodeRecord file_record(InodeNumber number) {
    InodeRecord record;
    record.attributes.inode = number;
    record.attributes.mode = S_IFREG | 0644;
    record.attributes.links = 1;
    record.attributes.uid = static_cast<std::uint32_t>(number);
    return record;
  }
  static InodeRecord directory_record(InodeNumber number, InodeNumber parent) {
    InodeRecord record = file_record(number);
    record.attributes.mode = S_IFDIR | 0755;
    record.attributes.links = 2;
    record.attributes.parent = parent;
    record.attributes.next_cookie = kFirstCookie;
    return record;
  }
  void put(const InodeRecord& record) {
    metadata_->put(Family::kInodes, encode_inode_key(record.attributes.inode), encode_inode(record));
  }
  void put_file(InodeNumber number) { put(file_record(number)); }
  void put_directory(InodeNumber number, InodeNumber parent) { put(directory_record(number, parent)); }

 private:
  TempDir directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SnapshotList> snapshots_;
  std::unique_ptr<Metadata> metadata_;
};

}  // namespace dedupfs
