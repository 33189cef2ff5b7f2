// The definition of every kernel: for CPUs without the others, and for the tests of the others.
//
// Compiled without auto-vectorisation: "scalar" in every comparison means one byte at a time.
#include "delta/reference/finesse.h"
#include "delta/reference/n_transform.h"
#include "delta/reference/odess.h"
#include "delta/reference/odess_plus.h"
#include "delta/simd/kernels.h"

namespace dedupfs::resemblance {

constinit const Kernels kScalarKernels = {
    .n_transform = &reference::n_transform,
    .finesse = &reference::finesse,
    .odess = &reference::odess,
    .odess_plus = &reference::odess_plus,
};

}  // namespace dedupfs::resemblance
