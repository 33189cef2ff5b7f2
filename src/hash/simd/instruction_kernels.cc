#include "hash/simd/instruction_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dedupfs::sha256 {
namespace {

bool cpu_has_sha256() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
#elif defined(__aarch64__)
  return (::getauxval(AT_HWCAP) & HWCAP_SHA2) != 0;
#else
  return false;
#endif
}

}  // namespace

const Kernels& instruction_kernels(Isa isa) {
  static constexpr Kernels kNone = {};
  static const bool has_instructions = cpu_has_sha256();
  if (!has_instructions) return kNone;
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kSse41: return kX86ShaKernels;
#elif defined(__aarch64__)
    case Isa::kNeon: return kArmShaKernels;
#endif
    default: return kNone;
  }
}

}  // namespace dedupfs::sha256
