#include "fs/snapshot_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fs/recipe_format.h"
#include "fs/snapshot_check.h"
#include "store/before_images.h"
#include "store/bulk_writer.h"
#include "store/chunk_ids.h"
#include "store/snapshot_list.h"

namespace dedupfs {
namespace {

class SnapshotRepair {
 public:
  SnapshotRepair(const RecordSource& from, const ChunkTable& chunks, Database& to, const RepairLog& log)
      : from_(from), chunks_(chunks), writer_(to), log_(log) {}

  Result<RepairedSnapshots> run(bool is_whole) {
    if (!is_whole) given_up_to_ = kEndOfTrees;
    DEDUPFS_TRY(read_records());
    DEDUPFS_TRY(walk_images([](const BeforeImageKey&, const std::optional<std::string>&) { return Result<void>(); }));
    DEDUPFS_TRY(write_records());
    if (given_up_to_ < kEndOfTrees)
      DEDUPFS_TRY(walk_images([this](const BeforeImageKey& image, const std::optional<std::string>& before) {
        return writer_.put(Family::kBeforeImages, encode_before_image_key(image.family, image.key, image.number),
                           encode_before_image(before));
      }));
    DEDUPFS_TRY(writer_.flush());
    return repaired_;
  }

 private:
  Result<void> read_records() {
    return from_.walk(Family::kSnapshots, [this](std::string_view key, std::string_view value) {
      const auto number = decode_snapshot_key(key);
      const auto record = number ? decode_snapshot(*number, value) : Result<SnapshotRecord>(number.error());
      if (!record)
        log_.lost(record.error().message());
      else if (record->is_deleted || names_.insert(record->name).second)
        add(*record);
      else
        log_.lost(fmt::format("snapshot {}: another one has the name '{}'", *number, record->name));
      return true;
    });
  }

  void add(const SnapshotRecord& record) {
    records_[record.number] = record;
    repaired_.end_of_numbers = std::max<std::uint64_t>(repaired_.end_of_numbers, record.number + 1);
  }

  // Calls visit(image, before) for those that parse, until an Error. Of one that does not, the snapshots that see it are given
  // up: none that is newer.
  template <class Visit>
  Result<void> walk_images(Visit visit) {
    Result<void> result;
    DEDUPFS_TRY(from_.walk(Family::kBeforeImages, [&](std::string_view key, std::string_view value) {
      const auto image = decode_before_image_key(key);
      auto before = decode_before_image(value);
      const bool is_sound = image && before &&
                            (!*before || check_record_of_tree(image->family, image->key, **before)) &&
                            (image->family != Family::kRecipes || correct_segment(*before));
      if (!is_sound) {
        given_up_to_ = std::max(given_up_to_, image ? image->number : kEndOfTrees);
        return true;
      }
      // Without a record it is one of a deleted snapshot: what an older one still needs of it is found out later.
      if (!records_.contains(image->number))
        add({.number = image->number, .name = "deleted", .end_of_inodes = kEndOfInodes, .is_deleted = true});
      result = visit(*image, *before);
      return result.has_value();
    }));
    return result;
  }

  // False if it does not parse.
  bool correct_segment(std::optional<std::string>& segment) {
    if (!segment) return true;
    auto entries = decode_segment(*segment);
    if (!entries) return false;
    for (RecipeEntry& entry : *entries) {
      if (entry.kind != RecipeEntry::Kind::kChunk) continue;
      const auto length = chunks_.length_of(entry.chunk);
      const bool is_impossible = !length && number_of(entry.chunk) >= kEndOfPlausibleChunkIds;
      if ((length && *length != entry.length) || is_impossible) entry.chunk = kLostChunk;
      repaired_.end_of_chunks = std::max(repaired_.end_of_chunks, number_of(entry.chunk) + 1);
    }
    segment = encode_segment(*entries);
    return true;
  }

  Result<void> write_records() {
    for (auto& [number, record] : records_) {
      if (number <= given_up_to_ && !record.is_deleted) {
        log_.lost(fmt::format("snapshot '{}': what it has kept of files that changed cannot be read", record.name));
        record.is_deleted = true;
      }
      if (given_up_to_ == kEndOfTrees) continue;  // no image is copied: nothing is left of any
      DEDUPFS_TRY(writer_.put(Family::kSnapshots, encode_snapshot_key(number), encode_snapshot(record)));
    }
    return {};
  }

  const RecordSource& from_;
  const ChunkTable& chunks_;
  BulkWriter writer_;
  const RepairLog& log_;
  std::map<TreeNumber, SnapshotRecord> records_;
  std::set<std::string> names_;
  TreeNumber given_up_to_ = kLiveTree;  // snapshots up to here
  RepairedSnapshots repaired_;
};

}  // namespace

Result<RepairedSnapshots> repair_snapshots(const RecordSource& from, bool is_whole, const ChunkTable& chunks,
                                           Database& to, const RepairLog& log) {
  return SnapshotRepair(from, chunks, to, log).run(is_whole);
}

}  // namespace dedupfs
