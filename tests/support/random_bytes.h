// Bytes that look random and are the same each time. They are made in a library, since tests make many, and are compiled with less
// optimisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace dedupfs {

std::uint64_t splitmix64(std::uint64_t& state);

// Each at most `largest`. With all values, no compressor makes them smaller.
ByteBuffer random_bytes(std::size_t count, std::uint64_t seed, std::uint8_t largest = 255);
std::string random_text(std::size_t bytes, unsigned seed);

}  // namespace dedupfs
