#include "fs/transfer/chunk_places.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/trees/named_inode.h"

namespace dedupfs::transfer {

void ChunkPlaces::note_sent(ChunkId chunk, std::uint64_t length, InodeNumber inode, std::uint64_t offset,
                            std::uint64_t segment) {
  note(chunk, {.tree = Tree::kNow, .inode = inode, .segment = segment, .offset = offset, .bytes = length});
}

void ChunkPlaces::note(ChunkId chunk, const Run& place) {
  const std::uint64_t id = number_of(chunk);
  const auto next = runs_.upper_bound(id);
  if (next != runs_.begin() && std::prev(next)->second.end > id) return;  // one place is enough
  if (last_ != runs_.end()) {
    Run& run = last_->second;
    const bool follows = run.end == id && run.tree == place.tree && run.inode == place.inode &&
                         run.segment == place.segment && run.offset + run.bytes == place.offset;
    if (follows) {
      ++run.end;
      run.bytes += place.bytes;
      if (measured_ == last_->first) measured_ = 0;
      return;
    }
  }
  last_ = runs_.emplace_hint(next, id, place);
  last_->second.end = id + 1;
}

Result<std::optional<ContentPlace>> ChunkPlaces::find(ChunkId chunk) {
  DEDUPFS_TRY(read_base());
  const std::uint64_t id = number_of(chunk);
  auto run = runs_.upper_bound(id);
  if (run == runs_.begin() || (--run)->second.end <= id) return std::nullopt;
  DEDUPFS_TRY(measure(run));
  const std::size_t index = id - run->first;
  return ContentPlace{.tree = run->second.tree,
                      .inode = run->second.inode,
                      .offset = offsets_[index],
                      .length = offsets_[index + 1] - offsets_[index]};
}

Result<void> ChunkPlaces::read_base() {
  if (std::exchange(has_read_base_, true) || base_ == nullptr) return {};
  InodeNumber inode = 0;
  bool has_name = false;
  return base_->walk(Family::kRecipes, encode_inode_key(0), encode_inode_key(kEndOfInodes - 1),
                     [&](std::string_view key, std::string_view value) -> Result<bool> {
                       DEDUPFS_ASSIGN(const RecipeKey segment, decode_recipe_key(key));
                       if (std::exchange(inode, segment.inode) != segment.inode) {
                         DEDUPFS_ASSIGN(const auto record, named_inode(*base_, segment.inode));
                         has_name = record.has_value();
                       }
                       if (!has_name) return true;  // the receiver has not got what was deleted
                       DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
                       std::uint64_t offset = segment.offset;
                       for (const RecipeEntry& entry : entries) {
                         if (entry.kind == RecipeEntry::Kind::kChunk && entry.chunk != kLostChunk)
                           note(entry.chunk, {.tree = Tree::kBase,
                                              .inode = inode_of(segment.inode),
                                              .segment = segment.offset,
                                              .offset = offset,
                                              .bytes = entry.length});
                         offset += entry.length;
                       }
                       return true;
                     });
}

Result<void> ChunkPlaces::measure(Runs::const_iterator run) {
  if (measured_ == run->first) return {};
  const auto& [first, place] = *run;
  const auto changed = [&place = place] {
    return corruption(fmt::format("the recipe of inode {} changed while it was read", place.inode));
  };
  const CommittedTree& tree = place.tree == Tree::kBase ? *base_ : sent_;
  DEDUPFS_ASSIGN(const auto segment, tree.get(Family::kRecipes, encode_recipe_key(place.inode, place.segment)));
  if (!segment) return changed();
  DEDUPFS_ASSIGN(const auto entries, decode_segment(*segment));
  measured_ = 0;
  offsets_.clear();
  std::uint64_t offset = place.segment;
  for (const RecipeEntry& entry : entries) {
    if (offset >= place.offset && offset < place.offset + place.bytes) {
      if (entry.kind != RecipeEntry::Kind::kChunk || number_of(entry.chunk) != first + offsets_.size())
        return changed();
      offsets_.push_back(offset);
    }
    offset += entry.length;
  }
  if (offsets_.size() != place.end - first) return changed();
  offsets_.push_back(place.offset + place.bytes);
  measured_ = first;
  return {};
}

}  // namespace dedupfs::transfer
