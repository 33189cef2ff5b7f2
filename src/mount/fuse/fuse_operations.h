// The FUSE glue: requests of the kernel become calls of the Filesystem, errors become errno. Decisions of a
// filesystem without FUSE are not made here.
#pragma once

#include <cstddef>

#include "mount/fuse/fuse_api.h"

namespace dedupfs {

// The table for fuse_session_new(), whose user data is a FuseMount.
const fuse_lowlevel_ops& fuse_operations();
// The part of it that the library knows that is loaded: it may be older than the headers, and would complain of more.
std::size_t known_operations_bytes();

}  // namespace dedupfs
