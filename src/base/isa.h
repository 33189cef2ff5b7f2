// The instruction sets for which kernels exist, and those of this CPU.
//
// A level stands for the common instructions of its CPUs: kAvx2 includes BMI1/2, kAvx512 is F, BW, DQ, VL, VBMI and GFNI (Ice
// Lake, Zen 4 and later; older AVX-512 CPUs take the AVX2 kernels), kVsx is that of POWER8 in little-endian mode.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace dedupfs {

// Ordered by vector width within an architecture. kAvx512Gather is not an instruction set: it selects the kernels of the SS-CDC
// paper, with gathers. They are for study, and used only on request by name.
enum class Isa { kScalar, kSse41, kAvx2, kAvx512, kAvx512Gather, kNeon, kVsx };

std::string_view name_of(Isa isa);             // "scalar", "sse4.1", "avx2", "avx512", "avx512-gather", "neon", "vsx"
Result<Isa> parse_isa(std::string_view name);  // kInvalidArgument lists the names
std::vector<Isa> available_isas();             // of this CPU, kScalar first; those for study too
Isa widest_isa();                              // of this CPU, without those for study

// The default: DEDUPFS_ISA if that is set, else widest_isa().
Result<Isa> default_isa();
// Returns `isa`, or kUnsupported with the available ones if this CPU lacks it.
Result<Isa> if_available(Isa isa);

}  // namespace dedupfs
