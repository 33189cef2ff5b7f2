// The definition of every kernel: for CPUs without the others, and for the tests of the others.
//
// Compiled without auto-vectorisation: "scalar" in every comparison means one byte at a time.
#include "chunkers/kernels/kernels.h"
#include "chunkers/reference/ae.h"
#include "chunkers/reference/crc.h"
#include "chunkers/reference/gear.h"
#include "chunkers/reference/maxp.h"
#include "chunkers/reference/rabin.h"
#include "chunkers/reference/ram.h"
#include "chunkers/reference/range_scan.h"
#include "chunkers/reference/seqcdc.h"
#include "chunkers/reference/toga.h"

namespace dedupfs::simd {

constinit const Kernels kScalarKernels = {
    .max_byte = &reference::extreme_byte<reference::Above>,
    .min_byte = &reference::extreme_byte<reference::Below>,
    .first_above = &reference::first<reference::Above>,
    .first_at_least = &reference::first<reference::AtLeast>,
    .first_below = &reference::first<reference::Below>,
    .first_at_most = &reference::first<reference::AtMost>,
    .first_equal = &reference::first<reference::Equal>,
    .ae_max = &reference::ae<reference::Above>,
    .ae_min = &reference::ae<reference::Below>,
    .ram = &reference::ram,
    .maxp = &reference::maxp,
    .seqcdc_increasing = &reference::seqcdc<reference::Above>,
    .seqcdc_decreasing = &reference::seqcdc<reference::Below>,
    .gear = &reference::gear,
    .gear32 = &reference::gear,
    .gear16 = &reference::gear,
    .gear_low = &reference::gear,
    .crc = &reference::crc,
    .rabin = &reference::rabin,
    .toga = &reference::toga,
};

}  // namespace dedupfs::simd
