// Writes the record of an inode in memory, and finds the parent of a directory.
//
// Threads: as the functions say.
#pragma once

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

// If its content is in memory, size and data_bytes come from there.
Attributes attributes_of(const Inode& inode) DEDUPFS_REQUIRES(inode.mutex);
// Puts the inode's record into the open group. May throw std::bad_alloc; then it has put nothing.
void put_record(Metadata& metadata, Inode& inode) DEDUPFS_REQUIRES(inode.mutex);

// Takes the directory's lock. The parent of a snapshot's root is the directory of the snapshots.
InodeNumber parent_of(Inode& directory) DEDUPFS_EXCLUDES(directory.mutex);
// The parent in the record of a directory. It does not use the table: a walk through many directories would evict the inodes
// that others use.
Result<InodeNumber> read_parent(const Metadata& metadata, InodeNumber directory);

}  // namespace dedupfs
