// The vector first: the kernels are templates over it.
#include "delta/simd/swpr_avx2.h"

#include "delta/simd/kernels.h"
#include "delta/simd/odess_plus-inl.h"

namespace dedupfs::resemblance {

constinit const Kernels kAvx2Kernels = {
    .n_transform = nullptr,
    .finesse = nullptr,
    .odess = nullptr,
    .odess_plus = &odess_plus<SwprRegister32, SmallestLanes32>,
};

}  // namespace dedupfs::resemblance
