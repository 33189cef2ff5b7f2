// Before-images: the values of the namespace's keys when a snapshot was made. A value is kept when its key changes for the first
// time after the snapshot. They are in Family::kBeforeImages. See docs/snapshots.md.
//
// For a key, a snapshot has the image of the least number that is not below its own. If there is none, it has the value of the
// live tree.
//
// Threads: every function from any thread.
// Failure: reads fail as the database does; an image that cannot have been written is kCorruption.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/metadata/changes.h"
#include "store/metadata/snapshot_list.h"
#include "store/metadata/tree.h"

namespace dedupfs {

// The key of an image: family, key in the live tree, number of the snapshot.
struct BeforeImageKey {
  Family family{};
  std::string key;
  TreeNumber number = 0;
};
std::string encode_before_image_key(Family family, std::string_view key, TreeNumber number);
Result<BeforeImageKey> decode_before_image_key(std::string_view stored);
// The images of a family have keys that are not below this, and lie together, in the order of their keys in the live tree.
std::string first_before_image_key(Family family);

// None: there was no such key.
std::string encode_before_image(const std::optional<std::string>& value);
Result<std::optional<std::string>> decode_before_image(std::string_view stored);

// Adds an image of the present value to the batch, which changes `key` to `value`, if the snapshot needs one.
Result<void> preserve(const Database& database, const Preservation& preservation, Family family, std::string_view key,
                      const std::optional<std::string>& value, Database::Batch& batch);

// The namespace as a snapshot has it. Keys are those of the live tree, and of one inode a call.
class SnapshotView {
 public:
  // `snapshots` are those of the database. Both outlive the view.
  SnapshotView(const Database& database, const SnapshotList& snapshots, const SnapshotRecord& snapshot)
      : database_(database), snapshots_(snapshots), number_(snapshot.number), end_of_inodes_(snapshot.end_of_inodes) {}

  // As Metadata has them.
  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  Result<std::vector<KeyValue>> list(Family family, std::string_view from, std::string_view end,
                                     std::size_t limit) const;
  Result<std::optional<KeyValue>> find_at_or_before(Family family, std::string_view key, std::string_view from) const;
  // The images that it sees of the keys in [from, end); up to the end of the family without one.
  Result<ChangePage> images(Family family, std::string_view from, std::string_view end, std::size_t limit) const;

 private:
  bool is_older_than(std::string_view key) const;
  Result<std::optional<std::string>> value_of(const KeyValue& stored, const BeforeImageKey& image) const;
  Result<std::optional<KeyChange>> image_of(Family family, std::string_view key) const;
  Result<std::optional<KeyChange>> last_image_before(Family family, std::string_view key, std::string_view from) const;

  const Database& database_;
  const SnapshotList& snapshots_;
  const TreeNumber number_;
  const std::uint64_t end_of_inodes_;
};

}  // namespace dedupfs
