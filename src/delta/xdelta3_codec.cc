#include "delta/xdelta3_codec.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/check.h"

extern "C" {
#include <xdelta3.h>
}

namespace dedupfs {
namespace {

// What one stream has allocated. Refuses more than the limit, so that a hostile header cannot take all memory.
struct Arena {
  std::size_t allocated = 0;
  bool exhausted = false;  // the system had no memory left

  static void* allocate(void* opaque, std::size_t items, usize_t item_bytes) {
    Arena& arena = *static_cast<Arena*>(opaque);
    const std::size_t bytes = items * item_bytes;
    if (bytes > Xdelta3Codec::kMaxMemoryBytes - arena.allocated) return nullptr;
    arena.allocated += bytes;  // frees are not counted: a stream frees little before its end
    void* memory = std::malloc(bytes);
    arena.exhausted |= memory == nullptr;
    return memory;
  }
  static void release(void* /*opaque*/, void* memory) { std::free(memory); }
};

// One xd3_stream with its source, made for one call of the library.
class Stream {
 public:
  Stream(ByteSpan source, usize_t window_bytes) {
    xd3_config config;
    xd3_init_config(&config, XD3_NOCOMPRESS);
    config.smatch_cfg = XD3_SMATCH_FASTER;
    config.winsize = window_bytes;
    config.opaque = &arena_;
    config.alloc = Arena::allocate;
    config.freef = Arena::release;
    status_ = xd3_config_stream(&stream_, &config);
    if (status_ != 0) return;

    // The whole source is one block, so the library never asks for another.
    source_.blksize = static_cast<usize_t>(source.size());
    source_.onblk = source_.blksize;
    source_.max_winsize = source.size();
    source_.curblk = source.data();
    status_ = xd3_set_source_and_size(&stream_, &source_, source.size());
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { xd3_free_stream(&stream_); }

  // `code` is xd3_encode_stream or xd3_decode_stream. Returns how many bytes of `output` were filled.
  template <class Code>
  Result<std::size_t> run(Code code, ByteSpan input, MutableByteSpan output, ErrorCode failure) {
    usize_t filled = 0;
    if (status_ == 0) {
      status_ = code(&stream_, input.data(), static_cast<usize_t>(input.size()), output.data(), &filled,
                     static_cast<usize_t>(output.size()));
    }
    if (status_ == 0) return filled;
    if (status_ == ENOSPC) return Error{ErrorCode::kBufferTooSmall, "xdelta3: output larger than allowed"};
    // Not by the status: xdelta3 answers ENOMEM to some malformed headers too.
    if (arena_.exhausted) return Error{ErrorCode::kNoMemory, "xdelta3: out of memory"};
    return Error{failure, std::string("xdelta3: ") + reason()};
  }

 private:
  const char* reason() const {
    if (stream_.msg != nullptr) return stream_.msg;
    const char* text = xd3_strerror(status_);
    return text != nullptr ? text : "unknown error";
  }

  Arena arena_;
  xd3_source source_{};
  xd3_stream stream_{};
  int status_ = 0;
};

Result<std::size_t> encode_into(ByteSpan source, ByteSpan target, MutableByteSpan delta) {
  Stream stream(source, static_cast<usize_t>(target.size()));
  return stream.run(xd3_encode_stream, target, delta, ErrorCode::kIo);
}

// xdelta3 builds its instruction table at the first use, without a lock: a second thread could see it half built.
void build_instruction_table() {
  [[maybe_unused]] static const bool built = [] {
    const ByteBuffer source(1);
    ByteBuffer delta(64);
    return encode_into(source, source, delta).has_value();
  }();
  DEDUPFS_CHECK(built);
}

bool within(std::size_t bytes, std::size_t limit) {
  return bytes >= 1 && bytes <= limit;
}

}  // namespace

Result<std::optional<std::size_t>> Xdelta3Codec::encode(ByteSpan source, ByteSpan target, MutableByteSpan delta,
                                                        std::size_t likely_offset) {
  if (!within(source.size(), kMaxSourceBytes) || !within(target.size(), kMaxTargetBytes) ||
      likely_offset >= source.size()) {
    return Error{ErrorCode::kInvalidArgument, "delta: size of source or target, or likely offset, out of range"};
  }
  build_instruction_table();

  auto delta_bytes = encode_into(source, target, delta);
  if (delta_bytes) return std::optional<std::size_t>(*delta_bytes);
  if (delta_bytes.error().code() == ErrorCode::kBufferTooSmall) return std::optional<std::size_t>();
  return std::move(delta_bytes).error();
}

Result<void> Xdelta3Codec::decode(ByteSpan source, ByteSpan delta, MutableByteSpan target) {
  if (!within(source.size(), kMaxSourceBytes) || !within(target.size(), kMaxTargetBytes) || delta.empty()) {
    return Error{ErrorCode::kCorruption, "delta: size of source, delta or target out of range"};
  }
  build_instruction_table();

  Stream stream(source, 0);
  auto target_bytes = stream.run(xd3_decode_stream, delta, target, ErrorCode::kCorruption);
  if (!target_bytes) {
    if (target_bytes.error().code() != ErrorCode::kBufferTooSmall) return std::move(target_bytes).error();
    return Error{ErrorCode::kCorruption, "delta makes more than the chunk's bytes"};
  }
  if (*target_bytes != target.size()) {
    return Error{ErrorCode::kCorruption, "delta makes fewer than the chunk's bytes"};
  }
  return {};
}

}  // namespace dedupfs
