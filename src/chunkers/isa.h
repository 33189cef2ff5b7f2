// The instruction sets for which kernels exist, and what this CPU has.
//
// A level stands for what CPUs with it have in common: kAvx2 includes BMI1/2, kAvx512 is F, BW, DQ, VL and VBMI (Ice
// Lake, Zen 4 and later; older AVX-512 CPUs take the AVX2 kernels).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace dedupfs {

enum class Isa { kScalar, kSse41, kAvx2, kAvx512 };  // in order of vector width

std::string_view name_of(Isa isa);             // "scalar", "sse4.1", "avx2", "avx512"
Result<Isa> parse_isa(std::string_view name);  // kInvalidArgument lists the names
std::vector<Isa> available_isas();             // of this CPU, kScalar first

}  // namespace dedupfs
