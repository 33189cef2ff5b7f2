#include "store/seal/secret.h"

#include <string.h>  // NOLINT(modernize-deprecated-headers): explicit_bzero is there
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace dedupfs {
namespace {

// Keys of files are small and many: each takes a slot of a slab. What is larger has a mapping of its own.
constexpr std::size_t kSlotBytes = 64;
constexpr std::size_t kSlabBytes = 64 << 10;

class SecretMemory {
 public:
  static SecretMemory& instance() {
    static SecretMemory& memory = *new SecretMemory;  // never destroyed: secrets of other static objects may outlive it
    return memory;
  }

  std::uint8_t* take(std::size_t size) {
    const MutexLock lock(mutex_);
    if (size > kSlotBytes) return map(size);
    if (free_slots_.empty()) {
      std::uint8_t* const slab = map(kSlabBytes);
      for (std::size_t at = kSlabBytes; at != 0; at -= kSlotBytes) free_slots_.push_back(slab + at - kSlotBytes);
    }
    std::uint8_t* const slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  void give_back(std::uint8_t* begin, std::size_t size) {
    zero({begin, size});
    const MutexLock lock(mutex_);
    if (size <= kSlotBytes) {
      free_slots_.push_back(begin);  // the capacity was reserved by take()
      return;
    }
    std::erase_if(mappings_, [begin](const auto& mapping) { return mapping.first == begin; });
    ::munmap(begin, size);
  }

  bool is_locked() {
    const MutexLock lock(mutex_);
    return is_locked_;
  }

  void lock_again() {
    const MutexLock lock(mutex_);
    is_locked_ = true;
    for (const auto& [begin, size] : mappings_) protect(begin, size);
  }

 private:
  std::uint8_t* map(std::size_t size) DEDUPFS_REQUIRES(mutex_) {
    void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    mappings_.emplace_back(static_cast<std::uint8_t*>(begin), size);
    free_slots_.reserve(mappings_.size() * (kSlabBytes / kSlotBytes));
    protect(begin, size);
    return static_cast<std::uint8_t*>(begin);
  }

  void protect(void* begin, std::size_t size) DEDUPFS_REQUIRES(mutex_) {
    if (::mlock(begin, size) != 0) is_locked_ = false;
    ::madvise(begin, size, MADV_DONTDUMP);
  }

  Mutex mutex_;
  std::vector<std::uint8_t*> free_slots_ DEDUPFS_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uint8_t*, std::size_t>> mappings_ DEDUPFS_GUARDED_BY(mutex_);
  bool is_locked_ DEDUPFS_GUARDED_BY(mutex_) = true;
};

}  // namespace

Secret::Secret(std::size_t size) : size_(size), capacity_(size) {
  if (size != 0) begin_ = SecretMemory::instance().take(size);
}

Secret::Secret(ByteSpan copied) : Secret(copied.size()) {
  std::ranges::copy(copied, begin_);
}

Secret::Secret(Secret&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

Secret::~Secret() {
  if (begin_ != nullptr) SecretMemory::instance().give_back(begin_, capacity_);
}

void Secret::shrink(std::size_t size) {
  if (size >= size_) return;
  zero(bytes().subspan(size));
  size_ = size;
}

bool are_secrets_locked() {
  return SecretMemory::instance().is_locked();
}

// If the kernel gives core files to a program, the limit alone has no effect.
bool forbid_core_files() {
  const rlimit none{};
  return ::setrlimit(RLIMIT_CORE, &none) == 0 && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

std::uint8_t* allocate_secret(std::size_t size) noexcept {
  try {
    return SecretMemory::instance().take(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release_secret(std::uint8_t* begin, std::size_t size) noexcept {
  if (begin != nullptr) SecretMemory::instance().give_back(begin, size);
}

void lock_secrets_again() {
  SecretMemory::instance().lock_again();
}

void zero(MutableByteSpan bytes) {
  ::explicit_bzero(bytes.data(), bytes.size());
}

}  // namespace dedupfs
