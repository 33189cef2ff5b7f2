// The recipe of a file: the list of chunks and holes that its content consists of. The metadata keep it as segments of up to
// 1024 entries. The key of a segment is the inode and the file offset at which the segment starts. See docs/format.md,
// "Recipes".
//
// What is appended makes long segments, which take the least space. Where entries are replaced before the end, segments become
// short: the next change near there writes few entries again.
//
// Entries cover [0, end()) without gaps. The range from end() to the size of the file is a hole. A file of up to kInlineBytes
// may be one inline entry, whose bytes are in the recipe itself.
//
// Threads:   one Recipe object has one user at a time (its FileContent's lock); different files are independent.
// Ownership: refers to the volume's Metadata, which keeps the last used segments in decoded form.
// Failure:   a segment that does not parse, or does not fit its neighbours, is kCorruption and names inode and offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/format/recipe_format.h"
#include "fs/format/types.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

struct PlacedEntry {
  std::uint64_t offset = 0;  // in the file
  RecipeEntry entry;

  std::uint64_t end() const { return offset + entry.length; }
};

class Recipe {
 public:
  // `size`: of the file, as its record has it. A longer recipe is damaged: nobody knows which of the two is right.
  Recipe(Metadata& metadata, InodeNumber inode, std::uint64_t size = kMaxFileBytes);

  // The end of the last entry; 0 for an empty recipe.
  Result<std::uint64_t> end();
  // The entry that covers `offset`, if offset < end().
  Result<std::optional<PlacedEntry>> find(std::uint64_t offset);
  // Entries that overlap [from, to), at most `limit`, in order.
  Result<std::vector<PlacedEntry>> list(std::uint64_t from, std::uint64_t to, std::size_t limit = SIZE_MAX);

  // Replaces the entries in [from, to) by `entries`. Both ends must be boundaries, and the lengths of `entries` must sum up to
  // to - from. With to >= end() it replaces everything from `from` on, and the lengths may have any sum (append: from == to ==
  // end()). With from > end() it fills the gap with a hole. It merges adjacent holes. Returns the change in data bytes.
  Result<std::int64_t> replace(std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries);

  // Drops up to `segments` segments from the end of the recipe, so that callers can delete it in steps. True when none is left.
  static Result<bool> erase_some(Metadata& metadata, InodeNumber inode, std::size_t segments);

 private:
  struct Segment {
    std::uint64_t offset = 0;
    std::vector<RecipeEntry> entries;
    std::vector<std::uint64_t> ends;  // in the file, of each entry

    std::uint64_t end() const { return ends.back(); }
    std::uint64_t offset_of(std::size_t index) const { return index == 0 ? offset : ends[index - 1]; }
    std::size_t index_at(std::uint64_t offset) const;  // of the entry that covers it, or starts there
    std::uint64_t memory_bytes() const;
  };
  // The entries that a replace() writes again, and the keys of their old segments.
  struct Window {
    std::uint64_t offset = 0;
    std::vector<RecipeEntry> entries;
    std::vector<std::uint64_t> old_segments;
    bool is_append = false;  // nothing stays behind the new entries
    std::int64_t data_bytes_change = 0;
  };

  using SegmentPtr = std::shared_ptr<const Segment>;
  // A segment that was used, as long as the metadata keep it.
  struct Used {
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    std::weak_ptr<const Segment> segment;
  };

  Result<std::uint64_t> find_end();
  static SegmentPtr shared(Segment segment);
  Result<SegmentPtr> parse(const KeyValue& stored) const;
  Result<SegmentPtr> load(std::uint64_t offset);
  Result<SegmentPtr> load_at(std::uint64_t offset);
  Result<Window> open_window(std::uint64_t from, std::uint64_t to, std::uint64_t end, std::vector<RecipeEntry> entries);
  Result<void> widen_to_neighbour(Window& window, std::uint64_t window_end);
  void write(Window window);
  void remember(const SegmentPtr& segment);
  Error damaged(std::uint64_t offset, std::string_view reason) const;

  Metadata& metadata_;
  InodeNumber inode_;
  std::uint64_t size_;                // at construction: before the first change, the recipe must not be longer
  std::optional<std::uint64_t> end_;  // when known
  std::vector<Used> used_;            // in no order; at most kMaxUsed
  std::size_t oldest_used_ = 0;
};

}  // namespace dedupfs
