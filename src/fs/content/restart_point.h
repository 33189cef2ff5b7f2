// Where content is cut anew, and how holes are fed to the cutter, so that equal content gets equal boundaries however it was
// written.
//
// Threads: with the ContentLock held; restart_point() lets go of it while it reads.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/content/content_lock.h"
#include "fs/content/content_view.h"
#include "fs/content/counted_recipe.h"
#include "fs/content/write_stream.h"

namespace dedupfs {

// Holes that were made on purpose stay holes from this size on; shorter ones would only chop chunks up.
inline constexpr std::uint64_t kMinHole = 4096;

// Where cutting anew must start, so that boundaries become those of the content as a whole: at the entry that holds `offset`,
// the first dirty byte. An entry that ended only because the file did is cut anew, too, when something follows it.
Result<std::uint64_t> restart_point(ContentLock::Held& held, CountedRecipe& recipe, ContentView& view,
                                    std::uint64_t offset);

// The end of a long hole is fed as zeros, so that zeros behind it make it longer.
void feed_hole(WriteStream& into, std::uint64_t length);

}  // namespace dedupfs
