// The vector first: the kernels are templates over it.
#include "delta/simd/swpr_vsx.h"

#include "delta/simd/kernels.h"
#include "delta/simd/odess_plus-inl.h"

namespace dedupfs::resemblance {

constinit const Kernels kVsxKernels = {
    .n_transform = nullptr,
    .finesse = nullptr,
    .odess = nullptr,
    .odess_plus = &odess_plus<SwprRegister16, SmallestLanes16>,
};

}  // namespace dedupfs::resemblance
