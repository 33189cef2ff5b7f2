// From an instruction set to the kernels that serve it on this CPU.
#pragma once

#include "base/isa.h"
#include "hash/simd/kernels.h"

namespace dedupfs::sha256 {

// Those with SHA instructions. These are no level of Isa: a CPU of any level can lack them. Their kernels stand under the vectors
// that they use, kSse41 and kNeon. Empty for other levels, and on a CPU that lacks the instructions.
const Kernels& instruction_kernels(Isa isa);

}  // namespace dedupfs::sha256
