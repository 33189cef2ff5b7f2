// A ByteBuffer whose new bytes are left uninitialised, for memory that is about to be filled from a file or a decoder:
// clearing 256 KiB first costs about a tenth of reading them.
//
// A caller that resizes one must write every byte before reading it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dedupfs {

template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };

  UninitializedAllocator() = default;
  template <class U>
  UninitializedAllocator(const UninitializedAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as allocators do

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};

using RawBuffer = std::vector<std::uint8_t, UninitializedAllocator<std::uint8_t>>;

}  // namespace dedupfs

// Once, and optimised: a program that is not would otherwise visit each byte when a buffer is made and when it goes.
extern template class std::vector<std::uint8_t, dedupfs::UninitializedAllocator<std::uint8_t>>;
