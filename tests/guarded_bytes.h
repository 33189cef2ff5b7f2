// Memory between two pages whose touch ends the program.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace dedupfs {

class GuardedBytes {
 public:
  GuardedBytes() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* mapped = ::mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    base_ = static_cast<std::uint8_t*>(mapped);
    EXPECT_EQ(::mprotect(begin(), size(), PROT_READ | PROT_WRITE), 0);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(base_, 4 * page_); }

  std::uint8_t* begin() const { return base_ + page_; }
  std::uint8_t* end() const { return begin() + size(); }
  std::size_t size() const { return 2 * page_; }
  void fill(const ByteBuffer& bytes) const { std::copy_n(bytes.begin(), size(), begin()); }

 private:
  std::size_t page_;
  std::uint8_t* base_;
};

}  // namespace dedupfs
