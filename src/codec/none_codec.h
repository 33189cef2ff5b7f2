// "none": stores bytes as they are. The spec of volumes without compression, and the encoding of payloads for which it does not pay.
#pragma once

#include "codec/codec.h"

namespace dedupfs {

const Codec& none_codec();

}  // namespace dedupfs
