// A setting of compression: a codec and its level, as the superblock says it and mkfs.dedupfs --compression takes it. A spec is NAME
// or NAME:LEVEL: "none", "zstd", "zstd:6".
//
// Threads: values; free functions are safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/registry.h"

namespace dedupfs {

struct Compression {
  const Codec* codec = &default_codec();  // never null
  int level = codec->info().levels.normal;

  static Compression none();

  bool is_none() const { return codec->info().encoding == PayloadEncoding::kRaw; }
  // The same codec with no more effort than these bytes are worth.
  Compression worthwhile_for(ByteSpan bytes) const { return {codec, codec->worthwhile_level(bytes, level)}; }
  // The same codec with no more effort than its quick level.
  Compression quick() const;

  bool operator==(const Compression&) const = default;
};

// Two-speed storage (docs/settling.md): new data is stored quickly, and again with more effort when nobody waits.
struct CompressionTiers {
  Compression settled;
  Compression landing = settled.quick();

  bool are_one() const { return landing == settled; }
  // Settling would make data larger otherwise.
  bool are_in_order() const {
    return are_one() || landing.is_none() || (landing.codec == settled.codec && landing.level < settled.level);
  }
  bool operator==(const CompressionTiers&) const = default;
};

// kInvalidArgument with a message that lists the allowed values.
Result<Compression> parse_compression(std::string_view spec);
// With the level, if there is a choice.
std::string format_compression(const Compression& compression);
// "zstd[:LEVEL]|none": the forms of a spec, for --help.
std::string compression_forms();

}  // namespace dedupfs
