#include "fs/content/recipe.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"

namespace dedupfs {
namespace {

// Where entries are replaced before the end, segments have at most so many. To write one again then takes less than to store the
// new chunks. Half of it would save little, since a segment has a key of its own.
constexpr std::size_t kReplacedEntries = 64;
// A segment with fewer entries is joined to a neighbour when it is written, unless it is the last.
constexpr std::size_t kMinEntries = 16;
// As many as about 250 MB of a usual file have, even where all of it was overwritten: random reads in such a file decode each
// segment once.
constexpr std::size_t kMaxUsed = 128;

std::int64_t data_bytes_of(const RecipeEntry& entry) {
  return entry.is_data() ? static_cast<std::int64_t>(entry.length) : 0;
}

RecipeEntry hole_of(std::uint64_t length) {
  RecipeEntry hole;
  hole.length = length;
  return hole;
}

void merge_adjacent_holes(std::vector<RecipeEntry>& entries) {
  auto kept = entries.begin();
  for (auto at = entries.begin(); at != entries.end(); ++at) {
    if (kept != entries.begin() && !at->is_data() && !std::prev(kept)->is_data()) {
      std::prev(kept)->length += at->length;
    } else {
      if (kept != at) *kept = std::move(*at);
      ++kept;
    }
  }
  entries.erase(kept, entries.end());
}

// The number of entries of each segment. An append makes full segments, and leaves none half full behind. Elsewhere they are
// equal, so that each has room for more.
std::vector<std::size_t> segment_sizes(std::size_t entries, bool is_append) {
  const std::size_t largest = is_append ? kSegmentEntries : kReplacedEntries;
  const std::size_t segments = (entries + largest - 1) / largest;
  std::vector<std::size_t> sizes;
  for (std::size_t left = segments; left > 0; --left) {
    const std::size_t size = is_append ? std::min(entries, kSegmentEntries) : entries / left;
    sizes.push_back(size);
    entries -= size;
  }
  return sizes;
}

}  // namespace

Recipe::Recipe(Metadata& metadata, InodeNumber inode, std::uint64_t size)
    : metadata_(metadata), inode_(inode), size_(size) {}

Result<std::uint64_t> Recipe::end() {
  if (!end_) {
    DEDUPFS_ASSIGN(end_, find_end());
  }
  return *end_;
}

Result<std::optional<PlacedEntry>> Recipe::find(std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t recipe_end, end());
  if (offset >= recipe_end) return std::optional<PlacedEntry>();
  DEDUPFS_ASSIGN(const SegmentPtr segment, load(offset));
  const std::size_t index = segment->index_at(offset);
  return std::optional(PlacedEntry{segment->offset_of(index), segment->entries[index]});
}

Result<std::vector<PlacedEntry>> Recipe::list(std::uint64_t from, std::uint64_t to, std::size_t limit) {
  DEDUPFS_ASSIGN(const std::uint64_t recipe_end, end());
  to = std::min(to, recipe_end);
  std::vector<PlacedEntry> found;
  SegmentPtr segment;
  for (std::uint64_t at = from; at < to && found.size() < limit; at = segment->end()) {
    DEDUPFS_ASSIGN(segment, segment == nullptr ? load(at) : load_at(at));
    for (std::size_t i = segment->index_at(at); i < segment->entries.size() && found.size() < limit; ++i) {
      const std::uint64_t offset = segment->offset_of(i);
      if (offset >= to) break;
      found.push_back({offset, segment->entries[i]});
    }
  }
  return found;
}

Result<std::int64_t> Recipe::replace(std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries) {
  // load() has checked the recipe on disk. These conditions concern the arguments of callers.
  DEDUPFS_CHECK(from <= to);
  DEDUPFS_ASSIGN(const std::uint64_t recipe_end, end());
  if (from > recipe_end) {
    entries.insert(entries.begin(), hole_of(from - recipe_end));
    from = recipe_end;
  }
  to = std::min(to, recipe_end);
  std::uint64_t new_end = from;
  for (const RecipeEntry& entry : entries) {
    DEDUPFS_CHECK(entry.length <= kMaxFileBytes - new_end);
    new_end += entry.length;
  }
  DEDUPFS_CHECK(to == recipe_end || new_end == to);

  DEDUPFS_ASSIGN(Window window, open_window(from, to, recipe_end, std::move(entries)));
  const std::int64_t data_bytes_change = window.data_bytes_change;
  write(std::move(window));
  end_ = to == recipe_end ? new_end : recipe_end;
  return data_bytes_change;
}

Result<bool> Recipe::erase_some(Metadata& metadata, InodeNumber inode, std::size_t segments) {
  const std::string first_key = encode_recipe_key(inode, 0);
  std::string last_key = encode_recipe_key(inode, std::numeric_limits<std::uint64_t>::max());
  for (;; --segments) {
    DEDUPFS_ASSIGN(const auto last, metadata.find_at_or_before(Family::kRecipes, last_key, first_key));
    if (!last) return true;
    if (segments == 0) return false;
    last_key = last->first;
    metadata.erase(Family::kRecipes, last_key);
  }
}

std::size_t Recipe::Segment::index_at(std::uint64_t at) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, at) - ends.begin());
}

Result<std::uint64_t> Recipe::find_end() {
  DEDUPFS_ASSIGN(const auto last,
                 metadata_.find_at_or_before(Family::kRecipes, encode_recipe_key(inode_, kMaxFileBytes),
                                             encode_recipe_key(inode_, 0)));
  if (!last) return 0;
  DEDUPFS_ASSIGN(const SegmentPtr segment, parse(*last));
  if (segment->end() > size_) return damaged(segment->offset, "it is longer than the file");
  remember(segment);
  return segment->end();
}

Result<Recipe::SegmentPtr> Recipe::parse(const KeyValue& stored) const {
  DEDUPFS_ASSIGN(const RecipeKey key, decode_recipe_key(stored.first));
  auto entries = decode_segment(stored.second);
  if (!entries) return damaged(key.offset, entries.error().message());

  Segment segment{key.offset, std::move(*entries), {}};
  segment.ends.reserve(segment.entries.size());
  std::uint64_t end = segment.offset;
  for (const RecipeEntry& entry : segment.entries) {
    if (entry.length > kMaxFileBytes - end) return damaged(key.offset, "ends beyond the largest file");
    end += entry.length;
    segment.ends.push_back(end);
  }
  return shared(std::move(segment));
}

// Not by make_shared: a weak_ptr to a dropped segment would keep its memory.
Recipe::SegmentPtr Recipe::shared(Segment segment) {
  return SegmentPtr(new Segment(std::move(segment)));
}

// The segment that covers `offset`, which must be below end().
Result<Recipe::SegmentPtr> Recipe::load(std::uint64_t offset) {
  for (const Used& used : used_)
    if (used.offset <= offset && offset < used.end)
      if (SegmentPtr segment = used.segment.lock()) return segment;
  DEDUPFS_ASSIGN(const auto found, metadata_.find_at_or_before(Family::kRecipes, encode_recipe_key(inode_, offset),
                                                               encode_recipe_key(inode_, 0)));
  if (!found) return damaged(offset, "nothing covers this offset");
  DEDUPFS_ASSIGN(SegmentPtr segment, parse(*found));
  if (segment->end() <= offset) return damaged(offset, "nothing covers this offset");
  remember(segment);
  return segment;
}

// The segment that starts at `offset`. One must start there, because the one before ends there.
Result<Recipe::SegmentPtr> Recipe::load_at(std::uint64_t offset) {
  DEDUPFS_ASSIGN(SegmentPtr segment, load(offset));
  if (segment->offset != offset) return damaged(segment->offset, "overlaps the segment before it");
  return segment;
}

// Reads all segments that [from, to) overlaps, and a small neighbour to join with them. So no read can fail halfway through the
// writes.
Result<Recipe::Window> Recipe::open_window(std::uint64_t from, std::uint64_t to, std::uint64_t end,
                                           std::vector<RecipeEntry> entries) {
  Window window;
  window.offset = from;
  std::vector<RecipeEntry> behind;
  for (const RecipeEntry& entry : entries) window.data_bytes_change += data_bytes_of(entry);

  std::uint64_t window_end = from;
  if (from == end && end > 0) {
    DEDUPFS_ASSIGN(const SegmentPtr last, load(end - 1));
    if (last->entries.size() < kSegmentEntries) {
      window.offset = last->offset;
      window.old_segments.push_back(last->offset);
      window.entries = last->entries;
    }
  }
  while (window_end < to || (window_end == from && from < end)) {
    const bool is_first = window.old_segments.empty();
    DEDUPFS_ASSIGN(const SegmentPtr segment, is_first ? load(from) : load_at(window_end));
    if (is_first) window.offset = segment->offset;
    window.old_segments.push_back(segment->offset);
    window_end = segment->end();

    for (std::size_t i = 0; i < segment->entries.size(); ++i) {
      const RecipeEntry& entry = segment->entries[i];
      if (segment->ends[i] <= from) {
        window.entries.push_back(entry);
      } else if (segment->offset_of(i) >= to) {
        behind.push_back(entry);
      } else {
        // If damaged segments overlap, the caller may have seen other boundaries.
        if (segment->offset_of(i) < from || segment->ends[i] > to)
          return damaged(segment->offset, "it does not fit its neighbours");
        window.data_bytes_change -= data_bytes_of(entry);
      }
    }
  }
  window.is_append = to >= end;
  std::ranges::move(entries, std::back_inserter(window.entries));
  std::ranges::move(behind, std::back_inserter(window.entries));
  merge_adjacent_holes(window.entries);
  if (window.entries.size() < kMinEntries && window_end != end) DEDUPFS_TRY(widen_to_neighbour(window, window_end));
  return window;
}

Result<void> Recipe::widen_to_neighbour(Window& window, std::uint64_t window_end) {
  DEDUPFS_ASSIGN(const SegmentPtr next, load_at(window_end));
  window.old_segments.push_back(next->offset);
  std::ranges::copy(next->entries, std::back_inserter(window.entries));
  merge_adjacent_holes(window.entries);
  return {};
}

// All of it or, if memory runs out, nothing.
void Recipe::write(Window window) {
  std::vector<KeyChange> changes;
  std::vector<SegmentPtr> segments;
  std::uint64_t offset = window.offset;
  auto entry = std::make_move_iterator(window.entries.begin());
  for (const std::size_t size : segment_sizes(window.entries.size(), window.is_append)) {
    Segment segment{offset, {entry, entry + static_cast<std::ptrdiff_t>(size)}, {}};
    entry += static_cast<std::ptrdiff_t>(size);
    segment.ends.reserve(size);
    for (const RecipeEntry& written : segment.entries) segment.ends.push_back(offset += written.length);
    changes.push_back({encode_recipe_key(inode_, segment.offset), encode_segment(segment.entries)});
    segments.push_back(shared(std::move(segment)));
    if (segments.size() > kMaxUsed) segments.erase(segments.begin());
  }
  for (const std::uint64_t old : window.old_segments) {
    std::string key = encode_recipe_key(inode_, old);
    if (std::ranges::find(changes, key, &KeyChange::key) == changes.end())
      changes.push_back({std::move(key), std::nullopt});
  }
  metadata_.apply(Family::kRecipes, std::move(changes));
  for (Used& used : used_)
    if (std::ranges::find(window.old_segments, used.offset) != window.old_segments.end()) used = {};
  for (const SegmentPtr& segment : segments) remember(segment);
}

std::uint64_t Recipe::Segment::memory_bytes() const {
  std::uint64_t bytes = sizeof(Segment) + entries.capacity() * sizeof(RecipeEntry) + ends.capacity() * sizeof(ends[0]);
  for (const RecipeEntry& entry : entries) bytes += entry.bytes.size();
  return bytes;
}

void Recipe::remember(const SegmentPtr& segment) {
  try {
    Used used{segment->offset, segment->end(), segment};
    if (const auto free = std::ranges::find(used_, std::uint64_t{0}, &Used::end); free != used_.end()) {
      *free = std::move(used);
    } else if (used_.size() < kMaxUsed) {
      used_.push_back(std::move(used));
    } else {
      used_[oldest_used_] = std::move(used);
      oldest_used_ = (oldest_used_ + 1) % kMaxUsed;
    }
    metadata_.decoded().keep(segment, segment->memory_bytes());
  } catch (const std::bad_alloc&) {  // it will be decoded again
  }
}

Error Recipe::damaged(std::uint64_t offset, std::string_view reason) const {
  return {ErrorCode::kCorruption, "recipe of inode " + std::to_string(inode_) + ", offset " + std::to_string(offset) +
                                      ": " + std::string(reason)};
}

}  // namespace dedupfs
