// The FUSE glue: requests of the kernel become calls of the Filesystem, errors become errno. Decisions of a
// filesystem without FUSE are not made here.
#pragma once

#include "mount/fuse/fuse_api.h"

namespace dedupfs {

// The table for fuse_session_new(), whose user data is a FuseMount.
const fuse_lowlevel_ops& fuse_operations();

}  // namespace dedupfs
