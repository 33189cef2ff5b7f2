// Base64 of RFC 4648, section 4, as headers of HTTP have it.
//
// Threads: a free function, safe from any thread.
#pragma once

#include <string>

#include "base/bytes.h"

namespace dedupfs {

std::string base64_of(ByteSpan bytes);

}  // namespace dedupfs
