// What a filesystem tells the reclaims of its volume: what it refers to, when one is due, when the time to keep a state has come.
#include <algorithm>
#include <thread>
#include <vector>

#include "fs/background/defragmenter.h"
#include "fs/background/reclaimer.h"
#include "fs/format/recipe_format.h"
#include "fs/namespace/filesystem_state.h"
#include "index/entries.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kLookInterval{10};
constexpr std::chrono::milliseconds kDeletionInterval{20};
constexpr int kDeletionsBetweenCommits = 50;
// Less is never worth a reclaim that nobody asked for.
constexpr std::uint64_t kMinDroppedBytes = 64 << 20;
// One is due when files dropped this share of what the containers hold. Others may still refer to what they dropped; whether
// they do is known after the mark, which is cheap.
constexpr double kDroppedShare = 0.2;
constexpr double kGarbageLeft = 0.1;
// Files of so few references are gone through together, up to so many files.
constexpr std::size_t kMinReferences = 1 << 15;
constexpr InodeNumber kMaxInodesTogether = 1 << 12;
// With less than this share of the disk to spare, one is due earlier and frees more.
constexpr double kShortOfSpace = 0.1;

}  // namespace

std::unique_ptr<Reclaimer> FilesystemState::make_reclaimer() {
  return std::make_unique<Reclaimer>(
      *volume,
      ReclaimHost{
          .in_group =
              [this](const std::function<Result<void>()>& change) {
                const Change within(*this);
                return change();
              },
          .commit =
              [this] { return sync(table.has_dirty() ? options.background_patience : std::chrono::milliseconds(0)); },
          .await_deletions = [this](const auto& go_on) { return await_deletions(go_on); },
          .before_erasing = [this] { checkpointer->take_now(); },
          .references = [this](const auto& snapshot, const auto& visit) { return visit_references(snapshot, visit); },
          .newest_references = [this](const auto& visit) { return visit_newest_references(visit); },
          .available_bytes = [this] { return space.metadata_room(); }},
      [this] { return due_reclaim(); }, kLookInterval);
}

// The committer's thread deletes, in steps between commits. What is deleted from now on is not waited for: there may be no
// end of it. A commit now and then tells whether there can be any: a disk may be so full that nothing can be deleted.
Result<void> FilesystemState::await_deletions(const std::function<Result<void>()>& go_on) {
  const std::uint64_t orphans = orphan_reaper->pushed();
  const std::vector<SnapshotRecord> deleted = volume->snapshots().deleted();
  const auto is_gone = [&](const SnapshotRecord& snapshot) { return !volume->snapshots().knows(snapshot.number); };
  for (int looks = 0; !orphan_reaper->are_gone(orphans) || !std::ranges::all_of(deleted, is_gone); ++looks) {
    DEDUPFS_TRY(go_on());
    if (looks % kDeletionsBetweenCommits == 0) DEDUPFS_TRY(sync());
    std::this_thread::sleep_for(kDeletionInterval);
  }
  return {};
}

// Of files, and of files as snapshots have them.
Result<void> FilesystemState::visit_references(const Database::Snapshot& snapshot,
                                               const ReclaimHost::Visit& visit) const {
  const double end = static_cast<double>(numbers->end());
  const auto visit_segment = [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const RecipeKey segment, decode_recipe_key(key));
    DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
    for (const RecipeEntry& entry : entries)
      if (entry.kind == RecipeEntry::Kind::kChunk)
        DEDUPFS_TRY(visit(entry.chunk, static_cast<double>(segment.inode) / end));
    return {};
  };
  const auto visit_image = [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(key));
    if (image.family != Family::kRecipes) return {};
    DEDUPFS_ASSIGN(const auto before, decode_before_image(value));
    return before ? visit_segment(image.key, *before) : Result<void>();
  };
  const auto walk = [&](Family family, const auto& visit_record) {
    Result<void> result;
    const auto walked = volume->database().walk(snapshot, family, [&](std::string_view key, std::string_view value) {
      result = visit_record(key, value);
      return result.has_value();
    });
    return walked ? result : walked;  // what does not parse may refer to anything
  };
  DEDUPFS_TRY(walk(Family::kRecipes, visit_segment));
  return walk(Family::kBeforeImages, visit_image);
}

// Higher inode numbers are newer. Large files one by one, the newest first; of many small ones those that were made together, in the
// order in which they were made, and will be read.
Result<void> FilesystemState::visit_newest_references(const ReclaimHost::VisitUntil& visit) const {
  std::vector<ChunkId> ids;  // of the small ones
  InodeNumber together = 1;
  for (std::string end = encode_inode_key(numbers->end());;) {
    DEDUPFS_ASSIGN(const auto newest, volume->database().find_before(Family::kRecipes, end));
    if (!newest) return {};
    const InodeNumber last = node_in_key(newest->first);
    const std::string begin = encode_inode_key(last + 1 - std::min(last + 1, together));
    if (together == 1) {
      std::size_t references = 0;
      DEDUPFS_ASSIGN(const bool go_on, visit_recipes(begin, end, [&](ChunkId id) { return ++references, visit(id); }));
      if (!go_on) return {};
      if (references < kMinReferences) together = 2;
    } else {
      ids.clear();
      DEDUPFS_ASSIGN(const bool are_few, visit_recipes(begin, end, [&](ChunkId id) {
                       ids.push_back(id);
                       return ids.size() < kMinReferences;
                     }));
      if (!are_few) {
        together = 1;
        continue;
      }
      if (!std::ranges::all_of(ids, visit)) return {};
      together = std::min(2 * together, kMaxInodesTogether);
    }
    end = begin;
  }
}

// What the files with keys in [begin, end) refer to, in order. False if `visit` was.
Result<bool> FilesystemState::visit_recipes(const std::string& begin, const std::string& end,
                                            const ReclaimHost::VisitUntil& visit) const {
  return visit_entries_while(volume->database(), Family::kRecipes, begin, end, kSegmentsOfAPage,
                             [&](const std::string&, const std::string& value) -> Result<bool> {
                               DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
                               return std::ranges::all_of(entries, [&](const RecipeEntry& entry) {
                                 return entry.kind != RecipeEntry::Kind::kChunk || visit(entry.chunk);
                               });
                             });
}

// Rewriting makes garbage.
std::unique_ptr<Defragmenter> FilesystemState::make_defragmenter() {
  return std::make_unique<Defragmenter>(
      *volume, options.defragment_percent,
      DefragmenterHost{.in_group =
                           [this](const std::function<Result<void>()>& change) {
                             const Change within(*this);
                             return change();
                           },
                       .commit = [this](std::chrono::milliseconds patience) { return sync(patience); },
                       .patience = options.background_patience,
                       .may_defragment = [this] { return !aborted && !is_short_of_space(); }});
}

bool FilesystemState::is_short_of_space() {
  const auto room = space.room();
  return room && static_cast<double>(room->available_bytes) < kShortOfSpace * static_cast<double>(room->total_bytes);
}

std::optional<ReclaimSettings> FilesystemState::due_reclaim() {
  const std::uint64_t dropped = volume->chunks().dropped().count();
  if (dropped < kMinDroppedBytes || aborted) return std::nullopt;
  if (is_short_of_space()) return ReclaimSettings();
  const auto containers = volume->containers().list();
  if (!containers) return std::nullopt;
  double bytes = 0;
  for (const auto& container : *containers) bytes += static_cast<double>(container.bytes);
  if (static_cast<double>(dropped) < kDroppedShare * bytes) return std::nullopt;
  return ReclaimSettings{.garbage_left = kGarbageLeft};
}

}  // namespace dedupfs
