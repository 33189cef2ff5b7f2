// Small files as text: those of /proc, and those whose damage means no more than that they are missing.
//
// Threads: free functions, any thread.
// Failure: what cannot be read is empty, or cut off where it could not be read on: a directory, a process that has ended.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dedupfs {

// Iterators of the stream would throw what the stream itself only notes.
inline std::string text_of_file(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace dedupfs
