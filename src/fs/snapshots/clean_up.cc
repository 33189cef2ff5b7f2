#include "fs/snapshots/clean_up.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "fs/format/recipe_format.h"
#include "store/chunks/dropped_bytes.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kDeletionInterval{20};
constexpr int kDeletionsBetweenCommits = 50;

}  // namespace

CleanUp::CleanUp(Volume& volume, OrphanReaper& orphans, Transactions& transactions, std::uint64_t group_bytes)
    : volume_(volume),
      orphans_(orphans),
      transactions_(transactions),
      group_bytes_(group_bytes),
      snapshots_(volume.database(), volume.metadata(),
                 [&volume](Family family, std::string_view value) { note_dropped(volume.chunks(), family, value); }) {}

bool CleanUp::step() {
  if (is_paused_) return false;
  bool is_more = orphans_.step();
  const Result<bool> reaped = snapshots_.step();
  if (!reaped) spdlog::error("what a deleted snapshot leaves could not be removed: {}", reaped.error().message());
  is_more = (reaped && *reaped) || is_more;
  if (volume_.metadata().open_bytes() > group_bytes_ || snapshots_.awaits_commit()) transactions_.request_commit();
  return is_more;
}

// The committer's thread deletes, in steps between commits. This function does not wait for later deletions: they may never
// end. It commits now and then to see whether commits are possible: on a full disk, perhaps nothing can be deleted.
Result<void> CleanUp::await(const std::function<Result<void>()>& check_cancelled) {
  const std::uint64_t orphans = orphans_.pushed();
  const std::vector<SnapshotRecord> deleted = volume_.snapshots().deleted();
  const auto is_gone = [&](const SnapshotRecord& snapshot) { return !volume_.snapshots().knows(snapshot.number); };
  for (int looks = 0; !orphans_.are_gone(orphans) || !std::ranges::all_of(deleted, is_gone); ++looks) {
    DEDUPFS_TRY(check_cancelled());
    if (looks % kDeletionsBetweenCommits == 0) DEDUPFS_TRY(transactions_.sync());
    std::this_thread::sleep_for(kDeletionInterval);
  }
  return {};
}

void note_dropped(ChunkStore& chunks, Family family, std::string_view value) {
  if (family != Family::kRecipes) return;
  const auto entries = decode_segment(value);
  if (!entries) return;
  std::uint64_t bytes = 0;
  for (const RecipeEntry& entry : *entries)
    if (entry.kind == RecipeEntry::Kind::kChunk) bytes += entry.length;
  chunks.dropped().add(bytes);
}

}  // namespace dedupfs
