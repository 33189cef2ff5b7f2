// Memory for keys and passphrases. It is locked, left out of core files, and zeroed when it is released.
//
// Locking can fail where the limit of locked memory (RLIMIT_MEMLOCK) is small; are_secrets_locked() says so. A child of fork() has
// copies that are not locked: see lock_secrets_again().
//
// Threads:   a Secret belongs to one thread at a time; the functions are safe from any thread.
// Ownership: a Secret owns its bytes, and can be moved but not copied.
// Failure:   std::bad_alloc if there is no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace dedupfs {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::size_t size);  // zeros
  explicit Secret(ByteSpan copied);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  ByteSpan bytes() const { return {begin_, size_}; }
  MutableByteSpan bytes() { return {begin_, size_}; }
  Secret copy() const { return Secret(bytes()); }
  // Forgets all but the first bytes.
  void shrink(std::size_t size);

 private:
  std::uint8_t* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

bool are_secrets_locked();
// For people, where they are not, and the machine has swap.
inline constexpr std::string_view kUnlockedSecrets =
    "keys of the volume could be swapped out to the disk: raise the limit of locked memory (ulimit -l)";
// Locks the memory of all secrets of this process: for a child, which inherits no locks.
void lock_secrets_again();
// From now on this process writes no core file, and no other process of its user looks into its memory. False if that cannot be had.
bool forbid_core_files();

// The same memory, for libraries that take functions for it. Null if there is none.
std::uint8_t* allocate_secret(std::size_t size) noexcept;
void release_secret(std::uint8_t* begin, std::size_t size) noexcept;

void zero(MutableByteSpan bytes);  // the compiler does not leave it out

}  // namespace dedupfs
