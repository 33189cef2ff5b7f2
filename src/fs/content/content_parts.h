// The parts of one file's content that TailStream and DirtyFlush work on. They store bytes in the chunk store and bring the
// results into the recipe.
//
// Threads:   with the ContentLock held. Results of the chunk store come on threads of the pool, which take the lock
//            themselves.
// Ownership: owns nothing. All parts must outlive each copy.
#pragma once

#include "fs/content/content_lock.h"
#include "fs/content/content_view.h"
#include "fs/content/counted_recipe.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/dirty_layer.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct ContentParts {
  Volume& volume;
  DirtyBudget& budget;
  ContentLock& lock;
  CountedRecipe& recipe;
  DirtyLayer& dirty;
  ContentView& view;
};

}  // namespace dedupfs
