// Settings of a volume in memory, small enough for tests, and text that compresses.
#pragma once

#include "fs/estimate/scratch_volume.h"
#include "fs/test_filesystem.h"

namespace dedupfs {

inline ScratchVolumeSettings scratch_settings(std::uint64_t memory_bytes = 128 << 20) {
  return {.volume = TestFilesystem::settings(),
          .volume_options = {.index_memory_bytes = 32 << 20, .threads = 2},
          .filesystem = TestFilesystem::quiet(),
          .memory_bytes = memory_bytes};
}

inline ScratchVolume::Progress always() {
  return [](std::uint64_t) { return Result<void>(); };
}

// Each level of zstd makes it smaller than the one before.
inline std::string words(std::size_t bytes, unsigned seed) {
  static constexpr std::string_view kWords[] = {"apple ", "pear ", "plum\n", "quince ", "medlar ", "cherry\n", "fig "};
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += kWords[random() % std::size(kWords)];
    text += std::to_string(random() % 1000);
  }
  text.resize(bytes);
  return text;
}

}  // namespace dedupfs
