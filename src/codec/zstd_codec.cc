#include "codec/zstd_codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/raw_buffer.h"

namespace dedupfs {
namespace {

constexpr int kQuickestLevel = 1;
// Up to this level zstd itself leaves incompressible data alone, at several GB/s. Above, it looks for matches in vain at 30 to
// 550 MB/s.
constexpr int kMaxQuickLevel = 3;
constexpr std::size_t kBeginningBytes = 64 << 10;

// A sample of a payload: so long that levels differ on it as on the whole, so short that it costs a thirtieth of the whole.
constexpr std::size_t kSampleBytes = 16 << 10;
// A level is worth its time if it makes the result of the quickest level smaller by this share: docs/delta.md, "Sizes".
constexpr double kMinSaving = 0.01;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// One context a thread: making one costs as much as compressing a region. Null when memory is short.
ZSTD_CCtx* thread_compressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createCCtx());
  return context.get();
}

ZSTD_DCtx* thread_decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createDCtx());
  return context.get();
}

// All of `out` may be used.
std::optional<std::size_t> compress(ByteSpan in, MutableByteSpan out, int level) {
  ZSTD_CCtx* context = thread_compressor();
  if (context == nullptr) return std::nullopt;
  const std::size_t length = ZSTD_compressCCtx(context, out.data(), out.size(), in.data(), in.size(), level);
  if (ZSTD_isError(length)) return std::nullopt;
  return length;
}

// Whether the quickest level saves anything: at the beginning, and if that is incompressible, in the whole.
bool shrinks(ByteSpan in, MutableByteSpan scratch) {
  const auto saves = [scratch](ByteSpan bytes) {
    return compress(bytes, scratch.first(bytes.size() - bytes.size() / 64), kQuickestLevel).has_value();
  };
  return saves(in.first(std::min(in.size(), kBeginningBytes))) || saves(in);
}

Error corrupt(const char* what) {
  return {ErrorCode::kCorruption, std::string("zstd: ") + what};
}

class ZstdCodec final : public Codec {  // NOLINT(cppcoreguidelines-virtual-class-destructor): nobody deletes one
 public:
  // The normal level: docs/delta.md, "Sizes". On text, three levels more save 4 % and take 1.6 times as long.
  constexpr ZstdCodec()
      : Codec({.name = "zstd",
               .encoding = PayloadEncoding{1},
               .levels = {.lowest = kQuickestLevel, .highest = 19, .normal = 9, .quick = kQuickestLevel}}) {}

  std::optional<std::size_t> encode(ByteSpan in, MutableByteSpan out, std::size_t limit, int level) const override {
    if (level > kMaxQuickLevel && !shrinks(in, out)) return std::nullopt;
    return compress(in, out.first(limit), level);
  }

  int worthwhile_level(ByteSpan in, int highest) const override {
    if (highest <= kMaxQuickLevel || in.size() < 2 * kSampleBytes) return highest;
    const ByteSpan sample = in.subspan(in.size() / 2 - kSampleBytes / 2, kSampleBytes);
    std::array<std::uint8_t, kSampleBytes> out;
    const auto quick = compress(sample, out, kQuickestLevel);
    const auto best = compress(sample, out, highest);
    if (!quick || !best) return highest;  // incompressible, as far as the sample goes
    const bool saves = static_cast<double>(*best) < static_cast<double>(*quick) * (1 - kMinSaving);
    return saves ? highest : kQuickestLevel;
  }

  Result<void> decode(ByteSpan frame, MutableByteSpan out) const override {
    if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != out.size())
      return corrupt("the frame states another length");
    ZSTD_DCtx* context = thread_decompressor();
    if (context == nullptr) return Error{ErrorCode::kNoMemory, "decompressing"};
    // At once into a buffer of the stated length, which is all the window there is.
    const std::size_t length = ZSTD_decompressDCtx(context, out.data(), out.size(), frame.data(), frame.size());
    if (ZSTD_isError(length)) return corrupt(ZSTD_getErrorName(length));
    if (length != out.size()) return corrupt("the frame is shorter than it states");
    return {};
  }

  std::size_t estimate(ByteSpan bytes) const override {
    thread_local RawBuffer out;
    out.resize(std::max(out.size(), bytes.size()));
    return compress(bytes, MutableByteSpan(out).first(bytes.size()), kQuickestLevel).value_or(bytes.size());
  }
};

}  // namespace

const Codec& zstd_codec() {
  static constexpr ZstdCodec kCodec;
  return kCodec;
}

}  // namespace dedupfs
