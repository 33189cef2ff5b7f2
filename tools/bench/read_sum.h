// Adds up all bytes of a buffer: the memory limits every chunker that looks at each byte to this speed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace dedupfs::bench {

using ReadSum = std::uint64_t(const std::uint8_t* p, std::size_t n);

// A sum over the data, by the widest vectors of this CPU, on `threads` threads with equal shares. Its value has no meaning.
std::uint64_t read_sum(ByteSpan data, std::size_t threads);

// One for each instruction set, all compiled from read_sum_isa.cc.
ReadSum read_sum_scalar;
ReadSum read_sum_sse41;
ReadSum read_sum_avx2;
ReadSum read_sum_avx512;
ReadSum read_sum_neon;
ReadSum read_sum_vsx;

}  // namespace dedupfs::bench
