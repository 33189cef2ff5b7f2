// Writing to descriptors that are no files of a volume: pipes, files of tools.
//
// Threads: free function, any thread.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace dedupfs {

// False: not all was written, and errno says why. A signal does not end it.
inline bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace dedupfs
