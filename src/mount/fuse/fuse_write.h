// FUSE_WRITE, and the test whether a request came through the kernel's page cache.
#pragma once

#include <cstddef>

#include "mount/fuse/fuse_api.h"

namespace dedupfs {

// Whether the request came past the page cache. Only such requests name a lock owner, with every kernel. The flags of the file are
// no help: fcntl changes O_DIRECT at any time, and a write with O_DIRECT can go through the cache after all.
inline bool came_directly(const fuse_file_info& info) {
  return info.lock_owner != 0;
}

void op_write(fuse_req_t req, fuse_ino_t inode, const char* buffer, std::size_t size, off_t offset,
              fuse_file_info* info);

}  // namespace dedupfs
