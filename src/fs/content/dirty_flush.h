// Brings the dirty extents of a file into its recipe. It cuts the content around each one again: from the start of the recipe
// entry that holds the first dirty byte, until a new boundary is an old one, too. A small file becomes one inline entry.
//
// Threads:   run() with the ContentLock held, by the Exclusive operation, while there is no TailStream. It releases the lock
//            while it reads and waits. Results of the chunk store come on threads of the pool, which take the lock themselves.
// Ownership: all constructor arguments must outlive it.
// Failure:   extents that were flushed before the error are in the recipe. The others are still dirty, and nothing is lost.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/content/content_lock.h"
#include "fs/content/content_view.h"
#include "fs/content/counted_recipe.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/dirty_layer.h"
#include "store/volume/volume.h"

namespace dedupfs {

class DirtyFlush {
 public:
  using Held = ContentLock::Held;

  DirtyFlush(Volume& volume, DirtyBudget& budget, ContentLock& lock, CountedRecipe& recipe, DirtyLayer& dirty,
             ContentView& view)
      : volume_(volume), budget_(budget), lock_(lock), recipe_(recipe), dirty_(dirty), view_(view) {}

  // Nothing is dirty when it returns without an Error.
  Result<void> run(Held& held);

 private:
  class Recutting;

  Result<void> flush_inline(Held& held);
  Result<void> flush_extent(Held& held, std::uint64_t offset);

  Volume& volume_;
  DirtyBudget& budget_;
  ContentLock& lock_;
  CountedRecipe& recipe_;
  DirtyLayer& dirty_;
  ContentView& view_;
};

}  // namespace dedupfs
