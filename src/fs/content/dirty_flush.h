// Brings the dirty extents of a file into its recipe. It cuts the content around each one again: from the start of the recipe
// entry that holds the first dirty byte, until a new boundary is an old one, too. A small file becomes one inline entry.
//
// Threads:   as ContentParts; run() by the Exclusive operation, while there is no TailStream. It releases the lock while it
//            reads and waits.
// Ownership: as ContentParts.
// Failure:   extents that were flushed before the error are in the recipe. The others are still dirty, and nothing is lost.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/content/content_lock.h"
#include "fs/content/content_parts.h"

namespace dedupfs {

class DirtyFlush {
 public:
  using Held = ContentLock::Held;

  explicit DirtyFlush(const ContentParts& parts) : parts_(parts) {}

  // Nothing is dirty when it returns without an Error.
  Result<void> run(Held& held);

 private:
  class Recutting;

  Result<void> flush_inline(Held& held);
  Result<void> flush_extent(Held& held, std::uint64_t offset);

  const ContentParts parts_;
};

}  // namespace dedupfs
