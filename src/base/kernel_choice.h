// Chooses the kernel for an instruction set, from one table of functions per instruction set.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <vector>

#include "base/isa.h"
#include "base/mutex.h"

namespace dedupfs {

template <class Kernel>
struct KernelChoice {
  Kernel* run;
  Isa isa;  // the one that `run` is made for
};

// The result of `test` for the kernel of an ISA. `test` runs once per process.
template <class Kernel, class Kernels, class Test>
bool passes_once(Kernel* Kernels::*slot, Isa isa, const Test& test) {
  static Mutex mutex;
  struct Outcome {
    Kernel* Kernels::*slot;
    Isa isa;
    bool passes;
  };
  static std::vector<Outcome> outcomes DEDUPFS_GUARDED_BY(mutex);

  const MutexLock lock(mutex);
  for (const Outcome& outcome : outcomes)
    if (outcome.slot == slot && outcome.isa == isa) return outcome.passes;
  return outcomes.emplace_back(Outcome{slot, isa, test()}).passes;
}

// The kernel of the widest ISA, `widest` at most, that has one and passes; the scalar one, the definition, always does.
template <class Kernel, class Kernels, class Passes>
KernelChoice<Kernel> choose_kernel(Kernel* Kernels::*slot, Isa widest, const Kernels& (*kernels_of)(Isa),
                                   const Passes& passes) {
  const std::vector<Isa> isas = available_isas();
  for (auto isa = isas.rbegin(); isa != isas.rend(); ++isa) {
    if (*isa > widest || *isa == Isa::kScalar) continue;
    if (Kernel* kernel = kernels_of(*isa).*slot; kernel != nullptr && passes(*isa)) return {kernel, *isa};
  }
  return {kernels_of(Isa::kScalar).*slot, Isa::kScalar};
}

}  // namespace dedupfs
