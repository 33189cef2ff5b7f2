#include "codec/registry.h"

#include <algorithm>
#include <array>

#include "codec/none_codec.h"
#include "codec/zstd_codec.h"

namespace dedupfs {
namespace {

template <class Value>
const Codec* codec_with(Value CodecInfo::*member, const Value& value) {
  const auto found = std::ranges::find_if(codecs(), [&](const Codec* codec) { return codec->info().*member == value; });
  return found != codecs().end() ? *found : nullptr;
}

}  // namespace

std::span<const Codec* const> codecs() {
  static const std::array kCodecs = {
      &none_codec(),
      &zstd_codec(),
  };
  return kCodecs;
}

const Codec* find_codec(std::string_view name) {
  return codec_with(&CodecInfo::name, name);
}

const Codec* find_codec(PayloadEncoding encoding) {
  return codec_with(&CodecInfo::encoding, encoding);
}

const Codec& default_codec() {
  return zstd_codec();
}

std::size_t compressed_size(ByteSpan bytes) {
  return default_codec().estimate(bytes);
}

}  // namespace dedupfs
