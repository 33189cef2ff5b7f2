// From an inode in memory to its record, and back to what lies above it.
//
// Threads: as the functions say.
#pragma once

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

// Size and data_bytes are those of its content, if it has one in memory.
Attributes attributes_of(const Inode& inode) DEDUPFS_REQUIRES(inode.mutex);
// Puts its record into the open group. May throw std::bad_alloc; nothing was put then.
void put_record(Metadata& metadata, Inode& inode) DEDUPFS_REQUIRES(inode.mutex);

// Takes the directory's lock. What is above the root of a snapshot is the directory of the snapshots.
InodeNumber parent_of(Inode& directory) DEDUPFS_EXCLUDES(directory.mutex);
// The parent in the record of a directory. Not through the table: a walk through many would drop what others use.
Result<InodeNumber> read_parent(const Metadata& metadata, InodeNumber directory);

}  // namespace dedupfs
