// The names in the root folder of a stream's base, which the stream says.
//
// Threads: one user at a time.
// Failure: kTooLarge beyond kMostBytes of memory.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "base/result.h"

namespace dedupfs::transfer {

class BaseNames {
 public:
  static constexpr std::size_t kMostBytes = 64 << 20;
  static constexpr std::size_t kBytesBesideName = 64;  // in a set

  Result<void> add(const std::string& name);
  const std::set<std::string>& all() const { return names_; }

 private:
  std::set<std::string> names_;
  std::size_t bytes_ = 0;
};

}  // namespace dedupfs::transfer
