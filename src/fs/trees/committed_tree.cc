#include "fs/trees/committed_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fs/format/records.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

// A key that changed after the older one of two snapshots.
struct ChangedKey {
  std::string key;
  std::optional<std::string> before;
  bool is_known_after = false;  // the newer one has an image, too
  std::optional<std::string> after;
};

}  // namespace

CommittedTree CommittedTree::live(std::shared_ptr<CommittedState> state) {
  return {std::move(state), std::nullopt};
}

Result<CommittedTree> CommittedTree::of_snapshot(std::shared_ptr<CommittedState> state, std::string_view name) {
  std::optional<SnapshotRecord> found;
  DEDUPFS_TRY(state->database.walk(*state->view, Family::kSnapshots, [&](std::string_view key, std::string_view value) {
    const auto number = decode_snapshot_key(key);
    if (!number) return true;
    auto record = decode_snapshot(*number, value);
    if (record && !record->is_deleted && record->name == name) found = std::move(*record);
    return !found;
  }));
  if (!found) return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", name)};
  return of_snapshot(std::move(state), std::move(*found));
}

CommittedTree CommittedTree::of_snapshot(std::shared_ptr<CommittedState> state, SnapshotRecord record) {
  return {std::move(state), std::move(record)};
}

// Of all snapshots, in order of key and number.
template <class VisitImage>
Result<void> CommittedTree::walk_images(Family family, std::string_view from, std::string_view end,
                                        const VisitImage& visit) const {
  Result<void> result;
  DEDUPFS_TRY(
      state_->database.walk_from(*state_->view, Family::kBeforeImages, encode_before_image_key(family, from, 0),
                                 [&](std::string_view stored_key, std::string_view stored) {
                                   const auto visit_next = [&]() -> Result<bool> {
                                     if (const auto noted = state_->note_read(); !noted) return noted.error();
                                     DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(stored_key));
                                     if (image.family != family || std::string_view(image.key).compare(end) >= 0)
                                       return false;
                                     return visit(image, stored);
                                   };
                                   const Result<bool> goes_on = visit_next();
                                   if (!goes_on) result = goes_on.error();
                                   return goes_on && *goes_on;
                                 }));
  return result;
}

// Of the live tree.
template <class VisitRecord>
Result<void> CommittedTree::walk_stored(Family family, std::string_view from, std::string_view end,
                                        const VisitRecord& visit) const {
  Result<void> result;
  DEDUPFS_TRY(
      state_->database.walk_from(*state_->view, family, from, [&](std::string_view key, std::string_view value) {
        if (key >= end) return false;
        const Result<void> noted = state_->note_read();
        const Result<bool> goes_on = noted ? visit(key, value) : Result<bool>(noted.error());
        if (!goes_on) result = goes_on.error();
        return goes_on && *goes_on;
      }));
  return result;
}

Result<std::optional<std::string>> CommittedTree::get(Family family, std::string_view key) const {
  if (node_in_key(key) >= end_of_inodes()) return std::nullopt;
  if (snapshot_) {
    std::optional<std::optional<std::string>> old;
    const auto visit = [&](const BeforeImageKey& image, std::string_view stored) -> Result<bool> {
      if (image.key != key) return false;
      if (image.number < number()) return true;
      DEDUPFS_ASSIGN(old, decode_before_image(stored));
      return false;
    };
    DEDUPFS_TRY(walk_images(family, key, encode_key_behind(node_in_key(key)), visit));
    if (old) return std::move(*old);
  }
  return get_stored(family, key);
}

// Of the live tree.
Result<std::optional<std::string>> CommittedTree::get_stored(Family family, std::string_view key) const {
  std::optional<std::string> found;
  const std::string behind = std::string(key) + '\0';
  DEDUPFS_TRY(walk_stored(family, key, behind, [&](std::string_view, std::string_view value) -> Result<bool> {
    found = value;
    return false;
  }));
  return found;
}

Result<void> CommittedTree::walk(Family family, std::string_view from, std::string_view end, const Visit& visit) const {
  const std::string own_end = std::min(std::string(end), encode_inode_key(end_of_inodes()));
  std::map<std::string, std::optional<std::string>, std::less<>> old;
  if (snapshot_) {
    const auto add = [&](const BeforeImageKey& image, std::string_view stored) -> Result<bool> {
      if (image.number < number() || old.contains(image.key)) return true;
      DEDUPFS_ASSIGN(old[image.key], decode_before_image(stored));
      return true;
    };
    DEDUPFS_TRY(walk_images(family, from, own_end, add));
  }
  auto next = old.cbegin();
  bool goes_on = true;
  const auto visit_old = [&](const auto& is_due) -> Result<bool> {
    for (; goes_on && next != old.cend() && is_due(next->first); ++next) {
      if (!next->second) continue;
      DEDUPFS_ASSIGN(goes_on, visit(next->first, *next->second));
    }
    return goes_on;
  };
  const auto visit_stored = [&](std::string_view key, std::string_view value) -> Result<bool> {
    DEDUPFS_ASSIGN(goes_on, visit_old([&](const std::string& before) { return before <= key; }));
    if (!goes_on || old.contains(key)) return goes_on;
    DEDUPFS_ASSIGN(goes_on, visit(key, value));
    return goes_on;
  };
  DEDUPFS_TRY(walk_stored(family, from, own_end, visit_stored));
  DEDUPFS_TRY(visit_old([](const std::string&) { return true; }));
  return {};
}

Result<void> CommittedTree::walk_changes(const CommittedTree& newer, Family family, const VisitChange& visit) const {
  std::optional<ChangedKey> changed;
  const auto visit_changed = [&]() -> Result<void> {
    if (!changed) return {};
    if (!changed->is_known_after) {
      DEDUPFS_ASSIGN(changed->after, get_stored(family, changed->key));
    }
    if (changed->before != changed->after) DEDUPFS_TRY(visit(changed->key, changed->before, changed->after));
    changed.reset();
    return {};
  };
  std::string seen;  // the key whose images are read, if what this tree has of it is known
  const auto visit_image = [&](const BeforeImageKey& image, std::string_view stored) -> Result<bool> {
    if (image.number < number()) return true;
    if (image.key != seen) {
      DEDUPFS_TRY(visit_changed());
      seen = image.key;
      if (image.number >= newer.number()) return true;  // both have this image
      DEDUPFS_ASSIGN(auto before, decode_before_image(stored));
      changed = {.key = image.key, .before = std::move(before), .is_known_after = false, .after = {}};
    } else if (changed && !changed->is_known_after && image.number >= newer.number()) {
      DEDUPFS_ASSIGN(changed->after, decode_before_image(stored));
      changed->is_known_after = true;
    }
    return true;
  };
  const std::string end = encode_inode_key(end_of_inodes());
  DEDUPFS_TRY(walk_images(family, encode_inode_key(0), end, visit_image));
  DEDUPFS_TRY(visit_changed());
  return newer.walk(family, end, encode_inode_key(kEndOfInodes),
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      DEDUPFS_TRY(visit(key, std::nullopt, std::string(value)));
                      return true;
                    });
}

}  // namespace dedupfs
