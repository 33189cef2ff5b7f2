// Copies a namespace that may be damaged into an empty index, so that check_namespace() has nothing to say of the copy but
// which content is lost.
//
// What does not parse is dropped, what contradicts itself is decided, what can be derived is derived anew (`cookies`, link
// counts, sizes and parents of directories, counters). A directory or a file whose inode is lost, but not its entries or its
// content, gets a new inode. What no name leads to gets one in "lost+found". Content that is lost is never taken for zeros:
// the recipe refers to kLostChunk there, and reading gives EIO.
//
// Threads: one at a time.
// Failure: an Error means that a record could not be read at all or that the copy could not be written.
// Memory:  about 120 bytes an inode, and the entries of the largest directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "fs/check/repair_log.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

struct NamespaceRepairScope {
  bool names_have_holes = false;  // of `dirents` something cannot be read: `cookies` are asked, too
  // For which snapshot the copy gets before-images of what is added to the tree: the names in "lost+found", and that itself.
  std::optional<Preservation> preservation;
  Progress progress = no_progress;
  int pass = 1;
};

struct RepairedNamespace {
  std::uint64_t end_of_chunks = 1;  // no recipe refers to a chunk with this id or a greater one
};

Result<RepairedNamespace> repair_namespace(const RecordSource& from, const ChunkTable& chunks, Database& to,
                                           const RepairLog& log, const NamespaceRepairScope& scope);

}  // namespace dedupfs
