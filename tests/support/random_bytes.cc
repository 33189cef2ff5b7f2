#include "support/random_bytes.h"

#include <random>

namespace dedupfs {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

ByteBuffer random_bytes(std::size_t count, std::uint64_t seed, std::uint8_t largest) {
  ByteBuffer bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(splitmix64(seed) % (largest + 1u));
  return bytes;
}

std::string random_text(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

}  // namespace dedupfs
