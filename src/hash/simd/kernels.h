// SHA-256 of many messages at once, with the SHA instructions of a CPU. One table for each kind of these instructions.
//
// This header is compiled for CPUs that not every machine has, so it must not pull in inline functions: one compiled for such
// a CPU could be the copy that the linker keeps for the whole program. For the same reason the kernels live in anonymous
// namespaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs::sha256 {

inline constexpr std::size_t kDigestBytes = 32;

struct Message {
  const std::uint8_t* data;  // may be null if `size` is 0
  std::size_t size;
};

// Writes the digests of the messages to `digests`, one after the other. Reads the bytes of the messages and nothing else.
using HashMessages = void(const Message* messages, std::size_t count, std::uint8_t* digests);

struct Kernels {
  HashMessages* hash_messages;
};

extern const Kernels kX86ShaKernels;
extern const Kernels kArmShaKernels;

}  // namespace dedupfs::sha256
