// Writing to descriptors that are no files of a volume: pipes, files of tools.
//
// Threads: free functions, any thread.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
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

// The same at an offset of a file.
inline bool write_all_at(int descriptor, std::uint64_t offset, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::pwrite(descriptor, text.data(), text.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<std::uint64_t>(count);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace dedupfs
