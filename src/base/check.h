// DEDUPFS_CHECK(condition): a promise of our own code. A broken promise is a bug: the program stops before it can write wrong
// bytes. Never used on input from outside.
#pragma once

namespace dedupfs {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define DEDUPFS_CHECK(condition)                               \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::dedupfs::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
