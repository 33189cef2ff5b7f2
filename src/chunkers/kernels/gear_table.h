// The Gear hash (Xia et al., Ddelta, 2014) and its table: entry i is the i-th output of splitmix64 started at state 0.
//
// Boundaries of every volume depend on these numbers: they never change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedupfs {

struct GearTable {
  std::uint64_t entries[256];
  // planes[k][i] is byte k of entry i, counted from the lowest: for lookups by shuffles.
  alignas(64) std::uint8_t planes[8][256];
};

consteval GearTable make_gear_table() {
  GearTable table{};
  std::uint64_t state = 0;
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    table.entries[i] = z ^ (z >> 31);
    for (std::size_t k = 0; k < 8; ++k) table.planes[k][i] = static_cast<std::uint8_t>(table.entries[i] >> (8 * k));
  }
  return table;
}

namespace {

// A copy for each source: a shared one would be a weak symbol, and the linker could take that of any instruction set.
constexpr GearTable kGearTable = make_gear_table();

// One step of the hash. Bit b of the result depends on the last b + 1 bytes.
[[gnu::always_inline]] inline std::uint64_t gear_step(std::uint64_t hash, std::uint8_t byte) {
  return hash + hash + kGearTable.entries[byte];
}

}  // namespace
}  // namespace dedupfs
