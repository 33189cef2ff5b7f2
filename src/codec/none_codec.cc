#include "codec/none_codec.h"

#include <algorithm>

namespace dedupfs {
namespace {

class NoneCodec final : public Codec {  // NOLINT(cppcoreguidelines-virtual-class-destructor): nobody deletes one
 public:
  constexpr NoneCodec() : Codec({.name = "none", .encoding = PayloadEncoding::kRaw, .levels = {}}) {}

  // A caller can store the bytes without a copy.
  std::optional<std::size_t> encode(ByteSpan, MutableByteSpan, std::size_t, int) const override { return std::nullopt; }

  int worthwhile_level(ByteSpan /*in*/, int highest) const override { return highest; }

  Result<void> decode(ByteSpan frame, MutableByteSpan out) const override {
    if (frame.size() != out.size()) return Error{ErrorCode::kCorruption, "none: the bytes have another length"};
    std::ranges::copy(frame, out.begin());
    return {};
  }

  std::size_t estimate(ByteSpan bytes) const override { return bytes.size(); }
};

}  // namespace

const Codec& none_codec() {
  static constexpr NoneCodec kCodec;
  return kCodec;
}

}  // namespace dedupfs
