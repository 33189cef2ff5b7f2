#include "store/compressor.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/raw_buffer.h"

namespace dedupfs {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// Null when memory is short.
ZSTD_CCtx* thread_context() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createCCtx());
  return context.get();
}

}  // namespace

std::size_t compress(ByteSpan in, MutableByteSpan out, int level) {
  ZSTD_CCtx* context = thread_context();
  if (context == nullptr) return 0;
  const std::size_t length = ZSTD_compressCCtx(context, out.data(), out.size(), in.data(), in.size(), level);
  return ZSTD_isError(length) ? 0 : length;
}

std::size_t compressed_size(ByteSpan bytes) {
  thread_local RawBuffer out;
  out.resize(std::max(out.size(), bytes.size()));
  const std::size_t length = compress(bytes, MutableByteSpan(out).first(bytes.size()), 1);
  return length != 0 ? length : bytes.size();
}

}  // namespace dedupfs
