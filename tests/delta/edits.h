// Made-up versions of made-up data, the same in each run.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "base/bytes.h"

namespace dedupfs {

using Seed = std::mt19937::result_type;

inline ByteBuffer random_bytes(std::size_t size, Seed seed) {
  std::mt19937 random(seed);
  ByteBuffer bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Rows of one form that differ in a few digits, as logs and tables have them: much of it resembles other places, too.
inline ByteBuffer rows(std::size_t size, Seed seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) {
    text += "row " + std::to_string(random() % 100000) + ": {\"balance\": " + std::to_string(random() % 1000) +
            ", \"currency\": \"EUR\", \"notes\": \"\", \"padding\": \"" + std::string(24, '\0') + "\"}\n";
  }
  const ByteSpan bytes = bytes_of(text).first(size);
  return {bytes.begin(), bytes.end()};
}

enum class Edit { kReplace, kInsert, kRemove, kAny };

// `source` with 12 to 28 bytes replaced, inserted or removed somewhere in every `every` bytes.
inline ByteBuffer edited(ByteSpan source, Edit edit, Seed seed, std::size_t every = 1024) {
  std::mt19937 random(seed);
  ByteBuffer target;
  for (std::size_t begin = 0; begin < source.size(); begin += every) {
    const ByteSpan part = source.subspan(begin, std::min(every, source.size() - begin));
    const std::size_t length = 12 + random() % 17;
    const std::size_t at = random() % part.size();
    const auto kind = edit == Edit::kAny ? static_cast<Edit>(random() % 3) : edit;
    const std::size_t removed = kind == Edit::kInsert ? 0 : std::min(length, part.size() - at);
    const ByteBuffer inserted = random_bytes(kind == Edit::kRemove ? 0 : length, random());
    target.insert(target.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(at));
    target.insert(target.end(), inserted.begin(), inserted.end());
    target.insert(target.end(), part.begin() + static_cast<std::ptrdiff_t>(at + removed), part.end());
  }
  return target;
}

}  // namespace dedupfs
