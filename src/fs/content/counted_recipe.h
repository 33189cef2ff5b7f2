// The lowest layer of a file's content: its recipe, with a count of the data bytes in it. It tells the chunk store which data
// the file drops. The chunk store counts them towards the next reclaim.
//
// Threads:   with the ContentLock held.
// Ownership: the volume must outlive it.
// Failure:   as Recipe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fs/content/recipe.h"
#include "fs/format/types.h"
#include "store/volume/volume.h"

namespace dedupfs {

inline constexpr std::uint64_t kEndOfRecipe = UINT64_MAX;

class CountedRecipe {
 public:
  // `size` and `data_bytes`: of the file, as its record has them.
  CountedRecipe(Volume& volume, InodeNumber inode, std::uint64_t size, std::uint64_t data_bytes)
      : chunks_(volume.chunks()), recipe_(volume.metadata(), inode, size), data_bytes_(data_bytes) {}

  // As in Recipe.
  Result<std::uint64_t> end() { return recipe_.end(); }
  Result<std::optional<PlacedEntry>> find(std::uint64_t offset) { return recipe_.find(offset); }
  Result<std::vector<PlacedEntry>> list(std::uint64_t from, std::uint64_t to) { return recipe_.list(from, to); }
  // Whether an entry begins at `offset`, or the recipe has no entry there or behind it.
  Result<bool> is_boundary(std::uint64_t offset);
  // As in Recipe. With `to` == kEndOfRecipe it replaces everything from `from` on.
  Result<void> replace(std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries);

  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  ChunkStore& chunks_;
  Recipe recipe_;
  std::uint64_t data_bytes_;
};

}  // namespace dedupfs
