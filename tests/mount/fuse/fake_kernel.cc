#include "fake_kernel.h"

#include <sys/syscall.h>
#include <unistd.h>

// In place of the C library's, for libfuse as well. Sanitizers have one, too, which only one that is not inline takes the place of.
extern "C" ssize_t writev(int descriptor, const iovec* pieces, int count) {
  if (const auto taken = dedupfs::FakeKernel::written(descriptor, pieces, count)) return *taken;
  return ::syscall(SYS_writev, descriptor, pieces, count);
}
