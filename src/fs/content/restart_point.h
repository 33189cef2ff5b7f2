// Finds the point from which changed content must be cut again, and feeds holes to the cutter. Both make sure that equal
// content gets equal boundaries, however it was written.
//
// Threads: with the ContentLock held; restart_point() releases it while it reads.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/content/content_lock.h"
#include "fs/content/content_view.h"
#include "fs/content/counted_recipe.h"
#include "fs/content/write_stream.h"

namespace dedupfs {

// Punched holes of at least this size stay holes. Shorter ones would only make chunks smaller.
inline constexpr std::uint64_t kMinHole = 4096;

// Returns the point from which content must be cut again, so that it gets the boundaries of the whole content. It is the start
// of the entry that holds `offset`, the first dirty byte. If new content follows the old end of the file, the last old entry is
// cut again, too: only the end of the file had ended it.
Result<std::uint64_t> restart_point(ContentLock::Held& held, CountedRecipe& recipe, ContentView& view,
                                    std::uint64_t offset);

// Feeds the end of a long hole as zeros, so that zeros behind the hole make it longer.
void feed_hole(WriteStream& into, std::uint64_t length);

}  // namespace dedupfs
