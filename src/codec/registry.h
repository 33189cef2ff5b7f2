// The codecs of this build, by name and by the number that region headers have.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <span>
#include <string_view>

#include "codec/codec.h"

namespace dedupfs {

// In the order in which messages list them.
std::span<const Codec* const> codecs();

// Null if this build has no such codec.
const Codec* find_codec(std::string_view name);
const Codec* find_codec(PayloadEncoding encoding);

// The codec of a volume that was made without a choice.
const Codec& default_codec();

// About how small the default codec makes it, quickly.
std::size_t compressed_size(ByteSpan bytes);

}  // namespace dedupfs
