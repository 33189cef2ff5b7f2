#include "store/metadata/snapshot_reaper.h"

#include <vector>

#include "base/crash_point.h"

namespace dedupfs {
namespace {

constexpr std::size_t kImagesPerStep = 1024;

}  // namespace

Result<bool> SnapshotReaper::step() {
  if (!next_) {
    DEDUPFS_ASSIGN(const bool begun, begin_pass());
    if (!begun) return false;
  }
  DEDUPFS_ASSIGN(const auto stored, database_.list(Family::kBeforeImages, *next_, {}, kImagesPerStep));
  for (const KeyValue& entry : stored) {
    const auto image = decode_before_image_key(entry.first);
    if (!image) continue;  // of nobody; fsck.dedupfs tells of it
    if (reaping_.contains(image->number)) DEDUPFS_TRY(sweep(entry, *image));
  }
  if (stored.size() == kImagesPerStep) {
    next_ = stored.back().first + '\0';
    return true;
  }
  end_pass();
  return !awaits_commit_ && !is_done();
}

// The database is asked, not the open group: a pass sees what earlier ones did when that is committed, and until then a
// record says that there may be images.
Result<bool> SnapshotReaper::begin_pass() {
  if (reaped_) {
    DEDUPFS_ASSIGN(const auto still_there, database_.get(Family::kBeforeImages, *reaped_));
    if (still_there) return false;
  }
  reaped_.reset();
  awaits_commit_ = false;
  reaping_.clear();
  had_images_.clear();
  // A group that could not be committed yet may have images for one that nobody ever saw.
  for (const SnapshotRecord& snapshot : metadata_.has_frozen() ? std::vector<SnapshotRecord>() : snapshots_.deleted()) {
    DEDUPFS_ASSIGN(const auto value, database_.get(Family::kSnapshots, encode_snapshot_key(snapshot.number)));
    if (!value) continue;
    DEDUPFS_ASSIGN(const SnapshotRecord committed, decode_snapshot(snapshot.number, *value));
    if (committed.is_deleted) reaping_.insert(snapshot.number);
  }
  awaits_commit_ = reaping_.empty() && !is_done();
  if (reaping_.empty()) return false;
  next_.emplace();
  return true;
}

Result<void> SnapshotReaper::sweep(const KeyValue& stored, const BeforeImageKey& image) {
  reaped_ = stored.first;
  had_images_.insert(image.number);
  const TreeNumber older = snapshots_.older(image.number);
  const auto replacement = snapshots_.find(older);
  // If the record of the older snapshot is damaged, nobody knows which images it needs.
  bool is_needed = replacement ? node_in_key(image.key) < replacement->end_of_inodes : older != kLiveTree;
  if (is_needed) {
    // One that is nearer to the replacement base hides this one.
    DEDUPFS_ASSIGN(const auto nearer,
                   database_.list(Family::kBeforeImages, encode_before_image_key(image.family, image.key, older),
                                  stored.first, 1));
    is_needed = nearer.empty();
  }
  // Not before it is known whether it is needed: behind an Error the group might be committed without it.
  metadata_.erase(Family::kBeforeImages, stored.first);
  if (is_needed) {
    metadata_.put(Family::kBeforeImages, encode_before_image_key(image.family, image.key, older), stored.second);
    return {};
  }
  const auto value = decode_before_image(stored.second);
  if (value && *value) dropped_(image.family, **value);
  return {};
}

void SnapshotReaper::end_pass() {
  next_.reset();
  awaits_commit_ = reaped_.has_value();
  for (const TreeNumber number : reaping_) {
    if (had_images_.contains(number)) continue;
    metadata_.erase(Family::kSnapshots, encode_snapshot_key(number));
    snapshots_.erase(number);
  }
  crash_point("snapshot.swept");
}

}  // namespace dedupfs
