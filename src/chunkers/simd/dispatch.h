// From an instruction set to the kernels that serve it.
#pragma once

#include "base/kernel_choice.h"
#include "chunkers/kernels/kernels.h"

namespace dedupfs::simd {

// The table with its gaps. The table of an ISA of another architecture is empty.
const Kernels& kernels_of(Isa isa);

// Whether the kernel and the definition of the slot agree on a fixed buffer.
template <class Kernel>
bool agrees(Kernel* kernel, Kernel* Kernels::*slot);

// The same for the kernel of an ISA, which must have one. Tested once a process, before first use; a kernel that fails (a
// faulty CPU or hypervisor) is passed over.
template <class Kernel>
bool passes_self_test(Kernel* Kernels::*slot, Isa isa);

template <class Kernel>
using Choice = KernelChoice<Kernel>;

// The kernel of the widest ISA, `widest` at most, that has one and passes. Tables leave out what would be slower than a
// narrower ISA's kernel on CPUs with both, so this is the fastest.
template <class Kernel>
Choice<Kernel> choose(Kernel* Kernels::*slot, Isa widest) {
  return choose_kernel(slot, widest, kernels_of, [slot](Isa isa) { return passes_self_test(slot, isa); });
}

extern template bool agrees(ExtremeByte*, ExtremeByte* Kernels::*);
extern template bool passes_self_test(ExtremeByte* Kernels::*, Isa);
extern template bool agrees(RangeScan*, RangeScan* Kernels::*);
extern template bool passes_self_test(RangeScan* Kernels::*, Isa);
extern template bool agrees(WindowCut*, WindowCut* Kernels::*);
extern template bool passes_self_test(WindowCut* Kernels::*, Isa);
extern template bool agrees(SeqCdcCut*, SeqCdcCut* Kernels::*);
extern template bool passes_self_test(SeqCdcCut* Kernels::*, Isa);
extern template bool agrees(CandidateScan*, CandidateScan* Kernels::*);
extern template bool passes_self_test(CandidateScan* Kernels::*, Isa);

}  // namespace dedupfs::simd
