// For a process that has many files open at a time.
#pragma once

#include <sys/resource.h>

namespace dedupfs {

// Lets this process have as many files open as the system allows it to ask for.
inline void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace dedupfs
