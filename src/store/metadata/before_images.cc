#include "store/metadata/before_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "index/entries.h"

// Every read looks at the live tree first and at the images second, with no lock in between. The commit that changes a key writes
// its image in the same batch. So a reader of the new value in the live tree finds the image, too. A reader of the old value
// finds the same bytes in the image, or no image. In the other order, a commit in between could hide the old value from both.

namespace dedupfs {
namespace {

constexpr std::size_t kNodeBytes = sizeof(std::uint64_t);
constexpr std::size_t kNumberBytes = 4;
constexpr char kEscaped = '\xff';     // behind a NUL that belongs to the key
constexpr char kTerminator = '\x01';  // behind the NUL that ends it
constexpr std::uint8_t kAbsent = 0;
constexpr std::uint8_t kPresent = 1;
constexpr std::size_t kPage = 256;

// A lower bound of the images of `key` and of all later keys. The encoding of keys gives images the order of family, key, number,
// whatever bytes a key has.
std::string bound_of(Family family, std::string_view key) {
  const auto tag = std::ranges::find(kTreeFamilies, family) - kTreeFamilies.begin() + 1;
  std::string bound(1, static_cast<char>(tag));
  bound += key.substr(0, kNodeBytes);
  for (const char byte : key.substr(std::min(key.size(), kNodeBytes))) {
    bound += byte;
    if (byte == '\0') bound += kEscaped;
  }
  return bound;
}

// Behind the images of all keys of a family.
std::string end_of(Family family) {
  std::string end = bound_of(family, {});
  ++end[0];
  return end;
}

// Takes back what bound_of() did; empty if it cannot have.
std::optional<std::string> unescaped(std::string_view text) {
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    key += text[i];
    if (text[i] == '\0' && (++i == text.size() || text[i] != kEscaped)) return std::nullopt;
  }
  return key;
}

}  // namespace

std::string encode_before_image_key(Family family, std::string_view key, TreeNumber number) {
  std::string stored = bound_of(family, key);
  stored += '\0';
  stored += kTerminator;
  for (int shift = 24; shift >= 0; shift -= 8) stored += static_cast<char>(number >> shift);
  return stored;
}

Result<BeforeImageKey> decode_before_image_key(std::string_view stored) {
  const Error damaged{ErrorCode::kCorruption, "key of a before-image: it is damaged"};
  Decoder in(stored);
  const std::uint8_t tag = in.u8();
  const std::string_view node = text_of(in.bytes(kNodeBytes));
  if (!in.ok() || in.remaining() < 2 + kNumberBytes || tag == 0 || tag > kTreeFamilies.size()) return damaged;
  const auto rest = unescaped(text_of(in.bytes(in.remaining() - 2 - kNumberBytes)));
  if (!rest || in.u8() != 0 || in.u8() != kTerminator) return damaged;
  BeforeImageKey decoded{.family = kTreeFamilies[tag - 1], .key = std::string(node) + *rest};
  for (const std::uint8_t byte : in.bytes(kNumberBytes)) decoded.number = decoded.number << 8 | byte;
  if (decoded.number == kLiveTree || decoded.number >= kEndOfTrees || tree_of(node_in_key(decoded.key)) != kLiveTree)
    return damaged;
  return decoded;
}

std::string first_before_image_key(Family family) {
  return bound_of(family, {});
}

std::string encode_before_image(const std::optional<std::string>& value) {
  std::string stored(1, static_cast<char>(value ? kPresent : kAbsent));
  if (value) stored += *value;
  return stored;
}

Result<std::optional<std::string>> decode_before_image(std::string_view stored) {
  const bool is_present = !stored.empty() && stored[0] == static_cast<char>(kPresent);
  if (is_present) return std::optional(std::string(stored.substr(1)));
  if (stored.size() == 1 && stored[0] == static_cast<char>(kAbsent)) return std::optional<std::string>();
  return Error{ErrorCode::kCorruption, "a before-image is damaged"};
}

Result<void> preserve(const Database& database, const Preservation& preservation, Family family, std::string_view key,
                      const std::optional<std::string>& value, Database::Batch& batch) {
  if (!is_of_tree(family) || node_in_key(key) >= preservation.end_of_inodes) return {};
  const std::string image = encode_before_image_key(family, key, preservation.number);
  DEDUPFS_ASSIGN(const auto own, database.get(Family::kBeforeImages, image));
  if (own) return {};
  for (const TreeNumber number : preservation.newer_deleted) {
    DEDUPFS_ASSIGN(const auto newer, database.get(Family::kBeforeImages, encode_before_image_key(family, key, number)));
    if (newer) return {};
  }
  DEDUPFS_ASSIGN(const auto before, database.get(family, key));
  if (before != value) batch.put(Family::kBeforeImages, image, encode_before_image(before));
  return {};
}

bool SnapshotView::is_older_than(std::string_view key) const {
  return inode_of(node_in_key(key)) >= end_of_inodes_;
}

Result<std::optional<std::string>> SnapshotView::get(Family family, std::string_view key) const {
  if (is_older_than(key)) return std::nullopt;
  DEDUPFS_ASSIGN(auto live, database_.get(family, key));
  DEDUPFS_ASSIGN(auto image, image_of(family, key));
  return image ? std::move(image->value) : std::move(live);
}

// An image newer than all snapshots cannot have been written. Believed, it would serve until the key changes: then the image
// that is written for the newest snapshot hides it. But a deleted snapshot may have gone since the image was read.
Result<std::optional<std::string>> SnapshotView::value_of(const KeyValue& stored, const BeforeImageKey& image) const {
  if (image.number > snapshots_.newest()) {
    DEDUPFS_ASSIGN(const auto still_there, database_.get(Family::kBeforeImages, stored.first));
    if (still_there)
      return Error{ErrorCode::kCorruption,
                   fmt::format("inode {}: a before-image of snapshot {}, of which there is no record",
                               node_in_key(image.key), image.number)};
  }
  return decode_before_image(stored.second);
}

Result<std::optional<KeyChange>> SnapshotView::image_of(Family family, std::string_view key) const {
  DEDUPFS_ASSIGN(const auto images, database_.list(Family::kBeforeImages, encode_before_image_key(family, key, number_),
                                                   encode_before_image_key(family, key, kEndOfTrees), 1));
  if (images.empty()) return std::nullopt;
  DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(images.front().first));
  DEDUPFS_ASSIGN(auto value, value_of(images.front(), image));
  return KeyChange{std::string(key), std::move(value)};
}

Result<std::vector<KeyValue>> SnapshotView::list(Family family, std::string_view from, std::string_view end,
                                                 std::size_t limit) const {
  std::vector<KeyValue> found;
  if (is_older_than(from) || (!end.empty() && from >= end)) return found;
  std::string next(from);
  while (found.size() < limit) {
    const std::size_t page = std::max(limit - found.size(), kPage);
    DEDUPFS_ASSIGN(auto live, database_.list(family, next, end, page));
    std::optional<std::string> behind;
    if (live.size() == page) behind = live.back().first + '\0';
    DEDUPFS_ASSIGN(ChangePage changed, images(family, next, behind ? *behind : end, page));
    if (changed.behind) behind = std::move(changed.behind);
    merge(std::move(live), std::move(changed.changes), behind, limit, found);
    if (!behind) break;
    next = std::move(*behind);
  }
  return found;
}

Result<ChangePage> SnapshotView::images(Family family, std::string_view from, std::string_view end,
                                        std::size_t limit) const {
  ChangePage page;
  const auto add = [&](const std::string& key, const std::string& value) -> Result<bool> {
    DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(key));
    if (image.number < number_ || (!page.changes.empty() && page.changes.back().key == image.key)) return true;
    if (page.changes.size() == limit) {
      page.behind = image.key;
      return false;
    }
    DEDUPFS_ASSIGN(auto before, value_of({key, value}, image));
    page.changes.push_back({image.key, std::move(before)});
    return true;
  };
  DEDUPFS_TRY(visit_entries_while(database_, Family::kBeforeImages, bound_of(family, from),
                                  end.empty() ? end_of(family) : bound_of(family, end), kPage, add));
  return page;
}

Result<std::optional<KeyValue>> SnapshotView::find_at_or_before(Family family, std::string_view key,
                                                                std::string_view from) const {
  if (is_older_than(key)) return std::nullopt;
  std::string before(key);
  before.push_back('\0');  // the least key behind `key`
  for (;;) {
    DEDUPFS_ASSIGN(auto live, database_.find_before(family, before, from));
    DEDUPFS_ASSIGN(auto image, last_image_before(family, before, from));
    if (!image || (live && live->first > image->key)) return live;
    if (image->value) return KeyValue{std::move(image->key), std::move(*image->value)};
    before = std::move(image->key);  // it was not there: look further down
  }
}

// The greatest key in [from, key) of which this snapshot sees an image.
Result<std::optional<KeyChange>> SnapshotView::last_image_before(Family family, std::string_view key,
                                                                 std::string_view from) const {
  const std::string first = bound_of(family, from);
  std::string before = bound_of(family, key);
  for (;;) {
    DEDUPFS_ASSIGN(const auto stored, database_.find_before(Family::kBeforeImages, before, first));
    if (!stored) return std::nullopt;
    DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(stored->first));
    if (image.number >= number_) return image_of(family, image.key);
    before = bound_of(family, image.key);  // older ones of this key are no nearer
  }
}

}  // namespace dedupfs
