#include "fs/check/snapshot_check.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "fs/check/reference_check.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "index/counters.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

template <class T>
Result<void> without_value(const Result<T>& result) {
  if (!result) return result.error();
  return {};
}

class SnapshotCheck {
 public:
  SnapshotCheck(Volume& volume, const ChunkTable& chunks, CheckReport& report)
      : database_(volume.database()), chunks_(chunks), report_(report) {}

  Result<void> run() {
    DEDUPFS_TRY(walk(Family::kSnapshots, [this](auto key, auto value) { return check_record(key, value); }));
    DEDUPFS_TRY(walk(Family::kBeforeImages, [this](auto key, auto value) { return check_image(key, value); }));
    for (const auto& [number, images] : of_no_snapshot_)
      report_.error(fmt::format("{} before-images of snapshot {}, which has no record", images, number));
    return {};
  }

 private:
  template <class Check>
  Result<void> walk(Family family, Check check) {
    return database_.walk(*database_.snapshot(), family, [&](std::string_view key, std::string_view value) {
      if (const Result<void> checked = check(key, value); !checked) report_.error(checked.error().message());
      return true;
    });
  }

  Result<void> check_record(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const TreeNumber number, decode_snapshot_key(key));
    numbers_.insert(number);
    DEDUPFS_ASSIGN(const SnapshotRecord record, decode_snapshot(number, value));
    DEDUPFS_ASSIGN(const auto next, get_number(database_, kNextSnapshotCounter));
    if (next.value_or(1) <= number)
      report_.error(fmt::format("snapshot {} exists, but the next number is {}", number, next.value_or(1)));
    if (!record.is_deleted && !names_.insert(record.name).second)
      report_.error(fmt::format("two snapshots have the name '{}'", record.name));
    return {};
  }

  Result<void> check_image(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(key));
    if (!numbers_.contains(image.number)) ++of_no_snapshot_[image.number];
    const auto before = decode_before_image(value);
    const auto checked = !before   ? Result<void>(before.error())
                         : *before ? check_value(image, **before)
                                   : Result<void>();
    return checked ? checked : checked.error().with(fmt::format("snapshot {}", image.number));
  }

  Result<void> check_value(const BeforeImageKey& image, std::string_view value) {
    DEDUPFS_TRY(check_record_of_tree(image.family, image.key, value));
    return image.family == Family::kRecipes ? check_segment(image, value) : Result<void>();
  }

  Result<void> check_segment(const BeforeImageKey& image, std::string_view value) {
    DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(image.key));
    DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
    std::uint64_t offset = place.offset;
    for (const RecipeEntry& entry : entries) {
      if (entry.kind == RecipeEntry::Kind::kChunk)
        check_reference(node_of(image.number, place.inode), offset, entry, chunks_, report_);
      offset += entry.length;
    }
    return {};
  }

  const Database& database_;
  const ChunkTable& chunks_;
  CheckReport& report_;
  std::set<TreeNumber> numbers_;
  std::set<std::string> names_;
  std::map<TreeNumber, std::uint64_t> of_no_snapshot_;
};

}  // namespace

Result<void> check_record_of_tree(Family family, std::string_view key, std::string_view value) {
  const std::uint64_t node = node_in_key(key);
  switch (family) {
    case Family::kInodes: DEDUPFS_TRY(decode_inode_key(key)); return without_value(decode_inode(node, value));
    case Family::kDirents: DEDUPFS_TRY(decode_dirent_key(key)); return without_value(decode_dirent(node, value));
    case Family::kCookies: DEDUPFS_TRY(decode_cookie_key(key)); return without_value(decode_cookie_entry(node, value));
    case Family::kXattrs: return without_value(decode_xattr_key(key));
    case Family::kRecipes: DEDUPFS_TRY(decode_recipe_key(key)); return without_value(decode_segment(value));
    case Family::kOrphans: return without_value(decode_inode_key(key));
    default: return corruption("a record without a tree");
  }
}

Result<void> check_snapshots(Volume& volume, const ChunkTable& chunks, CheckReport& report) {
  return SnapshotCheck(volume, chunks, report).run();
}

}  // namespace dedupfs
