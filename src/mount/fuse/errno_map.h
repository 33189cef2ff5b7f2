// From an ErrorCode to the errno for the kernel.
#pragma once

#include "base/result.h"

namespace dedupfs {

// A positive errno. If one code means different things to different calls (kNoData is ENODATA for an attribute, ENXIO for lseek),
// this is the common one, and the call sets the other itself.
int errno_of(ErrorCode code);

}  // namespace dedupfs
