#include "base/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace dedupfs {
namespace {

std::atomic<std::size_t> reserve_bytes = 0;
std::atomic<void*> reserve = nullptr;

bool take() noexcept {
  void* const taken = ::mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return false;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, taken)) ::munmap(taken, reserve_bytes);  // another thread was faster
  return true;
}

// Operator new tries again when this returns.
void give_up() {
  void* const taken = reserve.exchange(nullptr);
  if (taken == nullptr) throw std::bad_alloc();
  ::munmap(taken, reserve_bytes);
}

}  // namespace

void install_memory_reserve(std::size_t bytes) {
  reserve_bytes = bytes;
  take();
  std::set_new_handler(give_up);
}

bool memory_reserve_is_whole() noexcept {
  return reserve_bytes == 0 || reserve != nullptr || take();
}

}  // namespace dedupfs
