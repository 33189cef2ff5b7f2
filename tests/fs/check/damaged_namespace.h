// Damage of the namespace and its repair: by fsck on a volume, or by repair_namespace() on records in memory.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fs/check/namespace_repair.h"
#include "fs/damaged_volume.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "support/folder_at.h"

namespace dedupfs {

// A volume whose records are changed, and which fsck repairs.
class NamespaceRepairTest : public testing::Test {
 protected:
  InodeNumber inode_of(const std::string& path) const { return whole_.entries.at(path).inode; }

  InodeRecord inode(InodeNumber number) const {
    return value_of(decode_inode(
        number, value_of(volume_.open(true)->database().get(Family::kInodes, encode_inode_key(number))).value()));
  }
  void put_inode(InodeNumber number, const InodeRecord& record) const {
    volume_.put(Family::kInodes, encode_inode_key(number), encode_inode(record));
  }
  Dirent dirent(InodeNumber parent, const std::string& name) const {
    const auto value = value_of(volume_.open(true)->database().get(Family::kDirents, encode_dirent_key(parent, name)));
    return value_of(decode_dirent(parent, value.value()));
  }
  // Both forms of it.
  void put_name(InodeNumber parent, const std::string& name, const Dirent& entry) const {
    volume_.put(Family::kDirents, encode_dirent_key(parent, name), encode_dirent(entry));
    volume_.put(Family::kCookies, encode_cookie_key(parent, entry.cookie),
                encode_cookie_entry({.inode = entry.inode, .type = entry.type, .name = name}));
  }
  void erase_name(InodeNumber parent, const std::string& name) const {
    const Dirent entry = dirent(parent, name);
    volume_.erase(Family::kDirents, encode_dirent_key(parent, name));
    volume_.erase(Family::kCookies, encode_cookie_key(parent, entry.cookie));
  }
  std::vector<RecipeEntry> segment(InodeNumber number) const {
    const auto value = value_of(volume_.open(true)->database().get(Family::kRecipes, encode_recipe_key(number, 0)));
    return value_of(decode_segment(value.value()));
  }

  // Afterwards nothing is wrong but what is lost, and nothing more is done.
  FsckReport repair(FsckOptions::Mode mode = FsckOptions::Mode::kAll) {
    EXPECT_NE(volume_.fsck(FsckOptions::Mode::kCheck).errors_left, 0u) << "there is nothing to repair";
    FsckReport report = volume_.fsck(mode);
    EXPECT_EQ(report.errors_left, 0u) << testing::PrintToString(report.lines);
    EXPECT_EQ(volume_.fsck(FsckOptions::Mode::kAll).repairs, 0u);
    tree_ = volume_.tree();
    return report;
  }
  bool has_content_as_before(const std::string& now, const std::string& before) const {
    const auto found = tree_.entries.find(now);
    return found != tree_.entries.end() && found->second.content == whole_.entries.at(before).content;
  }
  bool is_as_before() const { return tree_.entries == whole_.entries; }

  DamagedVolume volume_;
  const VolumeTree& whole_ = DamagedVolume::tree_when_whole();
  VolumeTree tree_;
};

// Records in memory.
class RecordsInMemory final : public RecordSource {
 public:
  void put(Family family, const std::string& key, const std::string& value) { records_[family][key] = value; }
  void put_inode(InodeNumber number, std::uint32_t mode, const std::function<void(InodeRecord&)>& change = {}) {
    InodeRecord record;
    record.attributes.inode = number;
    record.attributes.mode = mode;
    record.attributes.links = is_directory(mode) ? 2 : 1;
    record.attributes.parent = is_directory(mode) ? kRootInode : 0;
    record.attributes.next_cookie = is_directory(mode) ? kFirstCookie : 0;
    if (change) change(record);
    put(Family::kInodes, encode_inode_key(number), encode_inode(record));
  }
  void put_name(InodeNumber parent, std::string_view name, const Dirent& dirent) {
    put(Family::kDirents, encode_dirent_key(parent, name), encode_dirent(dirent));
  }
  Result<void> walk(Family family, const Visit& visit) const override {
    if (const auto found = records_.find(family); found != records_.end())
      for (const auto& [key, value] : found->second)
        if (!visit(key, value)) break;
    return {};
  }

 private:
  std::map<Family, std::map<std::string, std::string>> records_;
};

// An empty index, and what a repair that fills it says.
class EmptyIndex {
 public:
  EmptyIndex() {
    const auto folder = folder_at(directory_.path() / "index");
    EXPECT_TRUE(ok(Database::create(folder)));
    database_ = value_of(Database::open(folder, {.memory_bytes = Database::kMinMemoryBytes}));
  }

  Database& operator*() { return *database_; }
  Database* operator->() { return database_.get(); }

  std::vector<KeyValue> records(Family family) const { return value_of(database_->list(family, {}, {}, 10'000)); }
  std::optional<std::string> get(Family family, const std::string& key) const {
    return value_of(database_->get(family, key));
  }
  InodeRecord inode(InodeNumber number) const {
    return value_of(decode_inode(number, get(Family::kInodes, encode_inode_key(number)).value()));
  }
  std::optional<Dirent> dirent(InodeNumber parent, std::string_view name) const {
    const auto value = get(Family::kDirents, encode_dirent_key(parent, name));
    return value ? std::optional(value_of(decode_dirent(parent, *value))) : std::nullopt;
  }

  const RepairLog& log() const { return log_; }
  std::vector<std::string> repaired;
  std::vector<std::string> lost;

 private:
  TempDir directory_;
  std::unique_ptr<Database> database_;
  const RepairLog log_{.repaired = [this](const std::string& line) { repaired.push_back(line); },
                       .lost = [this](const std::string& line) { lost.push_back(line); }};
};

}  // namespace dedupfs
