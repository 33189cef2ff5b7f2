// Files of a volume as tests look at them and damage them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "base/backing.h"

namespace dedupfs {

inline std::string content_of(const Path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void overwrite(const Path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}
inline void flip_bit(const Path& file, std::uint64_t offset) {
  std::string content = content_of(file);
  ASSERT_LT(offset, content.size()) << file;
  content[offset] = static_cast<char>(content[offset] ^ 4);
  overwrite(file, content);
}

}  // namespace dedupfs
