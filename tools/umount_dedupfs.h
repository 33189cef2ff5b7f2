// umount.dedupfs(8): unmounts a volume and returns when everything is durable. umount(8) calls it as a helper.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_umount(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
