// From an instruction set to the kernels of resemblance detection that serve it.
#pragma once

#include "base/kernel_choice.h"
#include "delta/simd/kernels.h"

namespace dedupfs::resemblance {

// The table with its gaps. The table of an ISA of another architecture is empty.
const Kernels& kernels_of(Isa isa);

// Whether the kernel gives the results of the slot's definition on a fixed buffer.
bool agrees(ExtractFeatures* kernel, ExtractFeatures* Kernels::*slot);

using Choice = KernelChoice<ExtractFeatures>;

// The kernel of the widest ISA, `widest` at most, that has one and agrees: a kernel that does not (a faulty CPU or
// hypervisor) is passed over. Tables leave out what would be slower than a narrower ISA's kernel, so this is the fastest.
Choice choose(ExtractFeatures* Kernels::*slot, Isa widest);

}  // namespace dedupfs::resemblance
