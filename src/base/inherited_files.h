// Descriptors that a process got from the one who started it.
//
// Threads: before any other thread exists.
// Ownership: InheritedFiles refers to the descriptors, and nobody else of this process uses them.
#pragma once

#include <utility>
#include <vector>

namespace dedupfs {

// Descriptors 0 to 2 that are closed become /dev/null, where every read and write fails. Otherwise the next file that is opened would be
// one of them: a message for the user would then be written into a file of the volume.
void open_standard_streams();

// All that were open when it was made, but for 0 to 2. Without /proc: none.
class InheritedFiles {
 public:
  InheritedFiles() = default;
  static InheritedFiles now();

  // A process that lives long would keep the pipes, locks and disks of others.
  void close();

 private:
  explicit InheritedFiles(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) {}

  std::vector<int> descriptors_;
};

}  // namespace dedupfs
