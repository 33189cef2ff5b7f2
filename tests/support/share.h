// What part of a long test is done where all takes longer: one of kShare.
#pragma once

#include <cstdint>

namespace dedupfs {

// Sanitizers make everything ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kShare = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr std::uint64_t kShare = 20;
#else
inline constexpr std::uint64_t kShare = 1;
#endif
#else
inline constexpr std::uint64_t kShare = 1;
#endif

}  // namespace dedupfs
