// Copies a damaged namespace into an empty index. In the copy, check_namespace() finds nothing but lost content.
//
// Records that do not parse are dropped, contradictions are decided, and derived records are computed again (`cookies`, link counts,
// sizes and parents of directories, counters). A directory whose inode is lost, but not its entries, gets a new inode; so does a file
// whose content is there. An inode without a name gets one in "lost+found". Lost content never becomes zeros: the recipe refers to
// kLostChunk there, and reading gives EIO.
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
  bool names_have_holes = false;  // a part of `dirents` cannot be read: use `cookies`, too
  // The snapshot that gets before-images of additions to the tree: "lost+found" and its names.
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
