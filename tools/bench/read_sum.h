// The plainest thing that reads all of a buffer: the limit that memory sets to any chunker that looks at every byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace dedupfs::bench {

using ReadSum = std::uint64_t(const std::uint8_t* p, std::size_t n);

// The sum of the data as little numbers, whatever they are; by the widest vectors of this CPU, on `threads` threads that
// share the data evenly.
std::uint64_t read_sum(ByteSpan data, std::size_t threads);

// One an instruction set, all compiled from read_sum_isa.cc.
ReadSum read_sum_scalar;
ReadSum read_sum_sse41;
ReadSum read_sum_avx2;
ReadSum read_sum_avx512;
ReadSum read_sum_neon;
ReadSum read_sum_vsx;

}  // namespace dedupfs::bench
