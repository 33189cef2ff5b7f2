#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace dedupfs {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "dedupfs: internal error: %s is false (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace dedupfs
