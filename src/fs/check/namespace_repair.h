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

#include "base/result.h"
#include "fs/check/namespace_repair_scope.h"
#include "fs/check/repair_log.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/chunks/chunk_table.h"

namespace dedupfs {

Result<RepairedNamespace> repair_namespace(const RecordSource& from, const ChunkTable& chunks, Database& to,
                                           const RepairLog& log, const NamespaceRepairScope& scope);

}  // namespace dedupfs
