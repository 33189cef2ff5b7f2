#include "fs/content/restart_point.h"

#include <algorithm>

namespace dedupfs {
namespace {

Result<bool> entry_is_zeros(ContentLock::Held& held, ContentView& view, const PlacedEntry& entry) {
  if (entry.entry.kind != RecipeEntry::Kind::kChunk || entry.entry.length >= kHoleRunBytes) return false;
  DEDUPFS_ASSIGN(const auto pieces, view.read_and_lock(held, entry.offset, entry.end()));
  return std::ranges::all_of(pieces, [](const PinnedBytes& piece) { return all_zero(piece.bytes); });
}

}  // namespace

Result<std::uint64_t> restart_point(ContentLock::Held& held, CountedRecipe& recipe, ContentView& view,
                                    std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t end, recipe.end());
  if (end == 0) return 0;
  DEDUPFS_ASSIGN(auto entry, recipe.find(std::min(offset, end - 1)));
  // Zeros at the end may belong to a long run that began in an earlier entry.
  while (entry && offset >= end && entry->offset != 0) {
    DEDUPFS_ASSIGN(const bool zeros, entry_is_zeros(held, view, *entry));
    if (!zeros) break;
    DEDUPFS_ASSIGN(entry, recipe.find(entry->offset - 1));
  }
  return entry ? entry->offset : end;
}

void feed_hole(WriteStream& into, std::uint64_t length) {
  if (length < kHoleRunBytes) return into.feed_hole(length);
  if (length > kHoleRunBytes) into.feed_hole(length - kHoleRunBytes);
  into.feed(ByteSpan(kZeros).first(kHoleRunBytes));
}

}  // namespace dedupfs
