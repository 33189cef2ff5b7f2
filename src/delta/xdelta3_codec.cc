#include "delta/xdelta3_codec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "base/check.h"

extern "C" {
#include <xdelta3.h>
}

namespace dedupfs {
namespace {

// RFC 3284, sections 4.1 and 4.2: the magic with version 0, and an indicator without extensions such as secondary
// compression or a code table. Then, as the window's indicator, that it copies from the source.
constexpr std::array<std::uint8_t, 5> kHeader = {0xd6, 0xc3, 0xc4, 0, 0};
constexpr usize_t kWindowCopiesSource = 1;

// Memory of one stream at a time, which is given back as a whole.
class Arena {
 public:
  void clear() { used_ = 0; }

  static void* allocate(void* arena, std::size_t items, usize_t item_bytes) {
    return static_cast<Arena*>(arena)->allocate(items * item_bytes);
  }
  static void release(void* /*arena*/, void* /*memory*/) {}

 private:
  // For the largest delta, in four sections of pages of 16 KiB, and 20 KiB beside it.
  static constexpr std::size_t kBytes = Xdelta3Codec::kMaxDeltaBytes + (std::size_t{128} << 10);

  void* allocate(std::size_t bytes) {
    if (bytes > kBytes - used_) return nullptr;
    void* const memory = memory_.get() + used_;
    used_ += (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    return memory;
  }

  // Not initialised: most of it is never touched.
  std::unique_ptr<std::byte[]> memory_{new std::byte[kBytes]};
  std::size_t used_ = 0;
};

struct Workspace {
  MatchFinder finder;
  Arena arena;
};

Workspace& workspace_of_this_thread() {
  thread_local Workspace workspace;
  return workspace;
}

// A stream needs no xd3_free_stream(): all it has is in the arena, which must not be used for another one before its end.
void configure(xd3_stream& stream, Arena& arena, usize_t window_bytes) {
  arena.clear();
  xd3_config config;
  xd3_init_config(&config, XD3_FLUSH);
  config.winsize = window_bytes;
  config.iopt_size = 64;  // instructions before the first are written; by default, memory for 400 is prepared
  config.opaque = &arena;
  config.alloc = Arena::allocate;
  config.freef = Arena::release;
  DEDUPFS_CHECK(xd3_config_stream(&stream, &config) == 0);  // sizes are within()
}

// Writes the matches, and what lies between them, as xdelta3.h has it for deltas of other origin (xd3_encode_init_partial()).
// Nothing if `delta` is too small.
std::optional<std::size_t> write_delta(std::span<const Match> matches, ByteSpan target, MutableByteSpan delta,
                                       Arena& arena) {
  xd3_stream stream;
  configure(stream, arena, static_cast<usize_t>(target.size()));
  DEDUPFS_CHECK(xd3_encode_init_partial(&stream) == 0);  // allocates from the arena only
  xd3_init_cache(&stream.acache);
  xd3_avail_input(&stream, target.data(), static_cast<usize_t>(target.size()));
  stream.enc_state = ENC_INSTR;

  xd3_source source{};
  if (!matches.empty()) {
    std::uint32_t begin = matches.front().source;
    std::uint32_t end = begin;
    for (const Match& match : matches) {
      begin = std::min(begin, match.source);
      end = std::max(end, match.source + match.bytes);
    }
    source.srcbase = begin;
    source.srclen = end - begin;
    stream.src = &source;
    stream.srcwin_decided = 1;
    stream.taroff = source.srclen;
  }
  for (const Match& match : matches)
    DEDUPFS_CHECK(xd3_found_match(&stream, match.target, match.bytes, match.source, 1) == 0);  // matches are ours

  std::size_t written = 0;
  int status = 0;
  while ((status = xd3_encode_input(&stream)) == XD3_OUTPUT) {
    if (stream.avail_out > delta.size() - written) return std::nullopt;
    std::memcpy(delta.data() + written, stream.next_out, stream.avail_out);
    written += stream.avail_out;
    xd3_consume_output(&stream);
  }
  DEDUPFS_CHECK(status == XD3_WINFINISH);  // all of the input is one window
  return written;
}

// xdelta3 builds its instruction table at the first use, without a lock: a second thread could see it half built.
void build_instruction_table() {
  [[maybe_unused]] static const bool built = [] {
    const std::uint8_t target = 0;
    std::array<std::uint8_t, 64> delta;
    return write_delta({}, {&target, 1}, delta, workspace_of_this_thread().arena).has_value();
  }();
  DEDUPFS_CHECK(built);  // of bytes of our own
}

bool within(std::size_t bytes, std::size_t limit) {
  return bytes >= 1 && bytes <= limit;
}

Error corruption(const char* reason) {
  return {ErrorCode::kCorruption, std::string("delta: ") + reason};
}

// What a window copies from its source (RFC 3284, section 4.2), and where in the delta that is said.
struct Segment {
  std::uint64_t length = 0;
  std::uint64_t begin = 0;
  std::size_t begin_at = 0;  // the number `begin`
  std::size_t rest_at = 0;   // what is behind it
};

Result<Segment> read_segment(ByteSpan delta) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  if (delta.size() <= kHeader.size() || !std::equal(kHeader.begin(), kHeader.end(), delta.begin()))
    return corruption("it was not made by dedupfs");
  std::size_t at = kHeader.size();
  if (delta[at++] != kWindowCopiesSource) return Segment{.length = 0, .begin = 0, .begin_at = at, .rest_at = at};
  // RFC 3284, section 2: seven bits a byte, the highest first.
  const auto read_number = [&]() -> std::optional<std::uint64_t> {
    std::uint64_t number = 0;
    while (at < delta.size()) {
      const std::uint8_t byte = delta[at++];
      number = number << 7 | (byte & 0x7f);
      if (number > kMax) return std::nullopt;
      if (byte < 0x80) return number;
    }
    return std::nullopt;
  };
  const auto length = read_number();
  const std::size_t begin_at = at;
  const auto begin = length ? read_number() : std::nullopt;
  if (!begin) return corruption("its window is cut off or out of range");
  return Segment{.length = *length, .begin = *begin, .begin_at = begin_at, .rest_at = at};
}

// As read_segment() reads it, in as few bytes as it takes. Returns what is behind it.
ByteBuffer::iterator write_number(ByteBuffer::iterator at, std::uint64_t number) {
  int shift = 0;
  while (number >> shift >= 0x80) shift += 7;
  for (; shift > 0; shift -= 7) *at++ = static_cast<std::uint8_t>(0x80 | (number >> shift & 0x7f));
  *at++ = static_cast<std::uint8_t>(number & 0x7f);
  return at;
}

}  // namespace

Result<std::optional<std::size_t>> Xdelta3Codec::encode(ByteSpan source, ByteSpan target, MutableByteSpan delta,
                                                        std::size_t likely_offset) {
  return encode(source, target, delta, likely_offset, workspace_of_this_thread().finder, MatchFinder::kAnew);
}

Result<std::optional<std::size_t>> Xdelta3Codec::encode(ByteSpan source, ByteSpan target, MutableByteSpan delta,
                                                        std::size_t likely_offset, MatchFinder& finder,
                                                        std::size_t moved_by) {
  if (!within(source.size(), kMaxSourceBytes) || !within(target.size(), kMaxTargetBytes) ||
      likely_offset >= source.size()) {
    return Error{ErrorCode::kInvalidArgument, "delta: size of source or target, or likely offset, out of range"};
  }
  build_instruction_table();

  const auto matches = finder.find(source, target, likely_offset, delta.size(), moved_by);
  if (!matches) return std::optional<std::size_t>();
  return write_delta(*matches, target, delta, workspace_of_this_thread().arena);
}

Result<Xdelta3Codec::Range> Xdelta3Codec::source_range(ByteSpan delta) {
  DEDUPFS_ASSIGN(const Segment segment, read_segment(delta));
  return Range{segment.begin, segment.begin + segment.length};
}

Result<ByteBuffer> Xdelta3Codec::without_begin_of_source(ByteSpan delta, std::size_t bytes) {
  DEDUPFS_ASSIGN(const Segment segment, read_segment(delta));
  ByteBuffer shorter(delta.begin(), delta.end());
  if (segment.begin_at == segment.rest_at) return shorter;  // it copies nothing
  if (segment.begin < bytes) return corruption("it needs the beginning of its source");
  // The new number is not larger, so it fits where the old one is.
  const auto end = write_number(shorter.begin() + static_cast<std::ptrdiff_t>(segment.begin_at), segment.begin - bytes);
  shorter.erase(end, shorter.begin() + static_cast<std::ptrdiff_t>(segment.rest_at));
  return shorter;
}

Result<void> Xdelta3Codec::decode(ByteSpan source, ByteSpan delta, MutableByteSpan target) {
  if (!within(source.size(), kMaxSourceBytes) || !within(target.size(), kMaxTargetBytes)) {
    return corruption("size of source or target out of range");
  }
  if (!within(delta.size(), kMaxDeltaBytes) || delta.size() < kHeader.size() ||
      !std::equal(kHeader.begin(), kHeader.end(), delta.begin())) {
    return corruption("it was not made by dedupfs");
  }
  build_instruction_table();

  xd3_stream stream;
  configure(stream, workspace_of_this_thread().arena, static_cast<usize_t>(target.size()));
  // The whole source is one block, so the library never asks for another.
  xd3_source window{};
  window.blksize = static_cast<usize_t>(source.size());
  window.onblk = window.blksize;
  window.max_winsize = source.size();
  window.curblk = source.data();
  DEDUPFS_CHECK(xd3_set_source_and_size(&stream, &window, source.size()) == 0);  // the size is within()
  // A window that fits is decoded in place, and a copy beyond its end is refused there.
  stream.next_out = target.data();
  stream.space_out = static_cast<usize_t>(target.size());
  xd3_avail_input(&stream, delta.data(), static_cast<usize_t>(delta.size()));

  if (xd3_decode_input(&stream) != XD3_GOTHEADER) return corruption(xd3_errstring(&stream));
  if (stream.dec_tgtlen != target.size()) return corruption("its length differs from that of the chunk");
  if ((stream.dec_win_ind & ~kWindowCopiesSource) != 0) return corruption("it has a window of an unknown kind");
  if (stream.dec_cpyoff + stream.dec_cpylen > source.size()) return corruption("it reads beyond the end of its source");

  if (xd3_decode_input(&stream) != XD3_OUTPUT) return corruption(xd3_errstring(&stream));
  if (stream.avail_out != target.size()) return corruption("it makes fewer bytes than the chunk has");
  if (stream.avail_in != 0) return corruption("it has bytes behind its end");
  return {};
}

}  // namespace dedupfs
