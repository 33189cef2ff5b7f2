#include "base/inherited_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>

namespace dedupfs {

// As the C library does for set-user-id programs. open(2) gives the lowest number that is free.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

InheritedFiles InheritedFiles::now() {
  const auto close_folder = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> folder(::opendir("/proc/self/fd"));
  std::vector<int> descriptors;
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name(entry->d_name);
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);  // of "." and "..", nothing
    if (descriptor > STDERR_FILENO && descriptor != ::dirfd(folder.get())) descriptors.push_back(descriptor);
  }
  return InheritedFiles(std::move(descriptors));
}

void InheritedFiles::close() {
  for (const int descriptor : std::exchange(descriptors_, {})) ::close(descriptor);
}

}  // namespace dedupfs
