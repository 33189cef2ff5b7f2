// "zstd", with levels 1 to 19. A frame is one zstd frame (RFC 8878) that states its content size. Checkpoints and the checks of the
// index use it directly: their format names zstd.
#pragma once

#include "codec/codec.h"

namespace dedupfs {

const Codec& zstd_codec();

}  // namespace dedupfs
