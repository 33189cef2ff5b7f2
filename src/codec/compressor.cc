#include "codec/compressor.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/raw_buffer.h"

namespace dedupfs {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Null when memory is short.
ZSTD_CCtx* thread_context() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createCCtx());
  return context.get();
}

ZSTD_DCtx* thread_decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createDCtx());
  return context.get();
}

Error corrupt(const char* what) {
  return {ErrorCode::kCorruption, std::string("zstd: ") + what};
}

}  // namespace

std::size_t compress(ByteSpan in, MutableByteSpan out, int level) {
  ZSTD_CCtx* context = thread_context();
  if (context == nullptr) return 0;
  const std::size_t length = ZSTD_compressCCtx(context, out.data(), out.size(), in.data(), in.size(), level);
  return ZSTD_isError(length) ? 0 : length;
}

Result<void> decompress(ByteSpan frame, MutableByteSpan out) {
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

std::size_t compressed_size(ByteSpan bytes) {
  thread_local RawBuffer out;
  out.resize(std::max(out.size(), bytes.size()));
  const std::size_t length = compress(bytes, MutableByteSpan(out).first(bytes.size()), 1);
  return length != 0 ? length : bytes.size();
}

}  // namespace dedupfs
