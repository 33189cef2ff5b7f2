#include "fs/content/counted_recipe.h"

#include <algorithm>
#include <utility>

#include "store/chunks/dropped_bytes.h"

namespace dedupfs {

Result<bool> CountedRecipe::is_boundary(std::uint64_t offset) {
  DEDUPFS_ASSIGN(const std::uint64_t end, recipe_.end());
  if (offset >= end) return true;
  DEDUPFS_ASSIGN(const auto entry, recipe_.find(offset));
  return entry && entry->offset == offset;
}

Result<void> CountedRecipe::replace(std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries) {
  std::uint64_t new_bytes = 0;
  for (const RecipeEntry& entry : entries) new_bytes += entry.is_data() ? entry.length : 0;
  DEDUPFS_ASSIGN(const std::int64_t change, recipe_.replace(from, to, std::move(entries)));
  // The count in the record on disk may be wrong. The number that goes back must be one that a record may have.
  data_bytes_ = std::min(change < 0 && static_cast<std::uint64_t>(-change) > data_bytes_
                             ? 0
                             : data_bytes_ + static_cast<std::uint64_t>(change),
                         kMaxFileBytes);
  chunks_.dropped().add(new_bytes - static_cast<std::uint64_t>(change));
  return {};
}

}  // namespace dedupfs
