#include "fs/check/snapshot_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fs/check/snapshot_check.h"
#include "fs/format/recipe_format.h"
#include "index/bulk_writer.h"
#include "store/format/chunk_ids.h"
#include "store/metadata/before_images.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {
namespace {

// Looks at all records, and remembers the findings, so that the copy corrects images in the same way.
class SnapshotImages {
 public:
  SnapshotImages(const RecordSource& from, const ChunkTable& chunks, SnapshotSurvey& survey, const RepairLog& log)
      : from_(from), chunks_(chunks), survey_(survey), log_(log) {}

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

  // Calls visit(image, before) for images that parse, until an Error. An image that does not parse ends the snapshots that see it, but
  // no newer one.
  template <class Visit>
  Result<void> walk(Visit visit) {
    Result<void> result;
    DEDUPFS_TRY(from_.walk(Family::kBeforeImages, [&](std::string_view key, std::string_view value) {
      const auto image = decode_before_image_key(key);
      auto before = decode_before_image(value);
      const bool is_sound = image && before &&
                            (!*before || check_record_of_tree(image->family, image->key, **before)) &&
                            (image->family != Family::kRecipes || correct_segment(*before));
      if (!is_sound) {
        survey_.given_up_to = std::max(survey_.given_up_to, image ? image->number : kEndOfTrees);
        return true;
      }
      // Without a record it belongs to a deleted snapshot. Whether an older snapshot needs the image is decided later.
      if (!survey_.records.contains(image->number))
        add({.number = image->number, .name = "deleted", .end_of_inodes = kEndOfInodes, .is_deleted = true});
      result = visit(*image, *before);
      return result.has_value();
    }));
    return result;
  }

 private:
  void add(const SnapshotRecord& record) {
    survey_.records[record.number] = record;
    survey_.ends.end_of_numbers = std::max<std::uint64_t>(survey_.ends.end_of_numbers, record.number + 1);
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
      survey_.ends.end_of_chunks = std::max(survey_.ends.end_of_chunks, number_of(entry.chunk) + 1);
    }
    segment = encode_segment(*entries);
    return true;
  }

  const RecordSource& from_;
  const ChunkTable& chunks_;
  SnapshotSurvey& survey_;
  const RepairLog& log_;
  std::set<std::string> names_;
};

Result<void> write_records(SnapshotSurvey& survey, BulkWriter& writer, const RepairLog& log) {
  for (auto& [number, record] : survey.records) {
    if (number <= survey.given_up_to && !record.is_deleted) {
      log.lost(fmt::format("snapshot '{}': its old states of changed files are not readable", record.name));
      record.is_deleted = true;
    }
    if (!survey.keeps_any_image()) continue;  // no image is left
    DEDUPFS_TRY(writer.put(Family::kSnapshots, encode_snapshot_key(number), encode_snapshot(record)));
  }
  return {};
}

}  // namespace

std::optional<Preservation> SnapshotSurvey::preservation() const {
  const auto is_seen = [this](const auto& entry) { return entry.first > given_up_to && !entry.second.is_deleted; };
  if (std::ranges::none_of(records, is_seen)) return std::nullopt;
  // An older one sees the image of the newest, unless there is one in between.
  const auto& [number, newest] = *records.rbegin();
  return Preservation{.number = number, .end_of_inodes = newest.end_of_inodes, .newer_deleted = {}};
}

Result<SnapshotSurvey> survey_snapshots(const RecordSource& from, bool is_whole, const ChunkTable& chunks,
                                        const RepairLog& log) {
  SnapshotSurvey survey;
  if (!is_whole) survey.given_up_to = kEndOfTrees;
  SnapshotImages images(from, chunks, survey, log);
  DEDUPFS_TRY(images.read_records());
  DEDUPFS_TRY(images.walk([](const BeforeImageKey&, const std::optional<std::string>&) { return Result<void>(); }));
  return survey;
}

Result<RepairedSnapshots> repair_snapshots(const RecordSource& from, SnapshotSurvey survey, const ChunkTable& chunks,
                                           Database& to, const RepairLog& log) {
  BulkWriter writer(to);
  DEDUPFS_TRY(write_records(survey, writer, log));
  if (survey.keeps_any_image())
    DEDUPFS_TRY(SnapshotImages(from, chunks, survey, log)
                    .walk([&](const BeforeImageKey& image, const std::optional<std::string>& before) {
                      return writer.put(Family::kBeforeImages,
                                        encode_before_image_key(image.family, image.key, image.number),
                                        encode_before_image(before));
                    }));
  DEDUPFS_TRY(writer.flush());
  return survey.ends;
}

}  // namespace dedupfs
