#include "fs/transfer/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codec/registry.h"
#include "hash/sha256.h"

namespace dedupfs::transfer {
namespace {

using Chain = std::array<std::uint8_t, kChainBytes>;

constexpr std::size_t kFrameHeaderBytes = 4 + 4 + kChainBytes;

const Codec& zstd() {
  return *find_codec("zstd");
}

Chain next_chain(const Chain& before, ByteSpan frame) {
  std::string message;
  message.reserve(before.size() + frame.size());
  message += text_of(before);
  message += text_of(frame);
  const Sha256Digest digest = sha256_of(bytes_of(message));
  Chain chain;
  std::copy_n(digest.begin(), chain.size(), chain.begin());
  return chain;
}

}  // namespace

Result<void> FrameWriter::begin(std::string_view header) {
  DEDUPFS_TRY(put(bytes_of(kStreamMagic)));
  records_ = header;
  return flush();
}

Result<void> FrameWriter::add(const Record& record) {
  std::string encoded;
  Encoder out(encoded);
  encode(record, out);
  return add_encoded(encoded);
}

Result<void> FrameWriter::add_encoded(std::string_view records) {
  records_ += records;
  return records_.size() >= frame_bytes_ ? flush() : Result<void>();
}

Result<void> FrameWriter::flush() {
  if (records_.empty()) return {};
  const ByteSpan raw = bytes_of(records_);
  chain_ = next_chain(chain_, raw);
  ByteBuffer room(raw.size());
  const auto stored = zstd().encode(raw, room, raw.size() - 1, level_);
  std::string header;
  Encoder out(header);
  out.u32(static_cast<std::uint32_t>(raw.size()));
  out.u32(static_cast<std::uint32_t>(stored.value_or(raw.size())));
  out.bytes(ByteSpan(chain_));
  DEDUPFS_TRY(put(bytes_of(header)));
  DEDUPFS_TRY(put(stored ? ByteSpan(room).first(*stored) : raw));
  records_.clear();
  return {};
}

Result<void> FrameWriter::put(ByteSpan bytes) {
  DEDUPFS_TRY(sink_(bytes));
  bytes_ += bytes.size();
  return {};
}

Result<std::string> FrameReader::begin() {
  ByteBuffer magic(kStreamMagic.size());
  DEDUPFS_TRY(read_exactly(magic));
  if (text_of(magic) != kStreamMagic)
    return corruption("these bytes are no stream of dedupfs-send: they do not begin with " + std::string(kStreamMagic));
  return read_frame();
}

Result<Record> FrameReader::next() {
  if (taken_ == records_.size()) {
    DEDUPFS_ASSIGN(records_, read_frame());
    taken_ = 0;
  }
  Decoder in(std::string_view(records_).substr(taken_));
  auto record = decode(in);
  taken_ = records_.size() - in.remaining();
  return record;
}

Result<void> FrameReader::expect_end() {
  std::uint8_t more = 0;
  if (taken_ == records_.size()) {
    DEDUPFS_ASSIGN(const std::size_t count, source_({&more, 1}));
    if (count == 0) return {};
  }
  return corruption("the stream goes on behind its end");
}

Result<std::string> FrameReader::read_frame() {
  ByteBuffer header(kFrameHeaderBytes);
  DEDUPFS_TRY(read_exactly(header));
  Decoder in{ByteSpan(header)};
  const std::uint32_t length = in.u32();
  const std::uint32_t stored_length = in.u32();
  const ByteSpan chain = in.bytes(kChainBytes);
  const auto damaged = [&](std::string_view why) {
    return corruption(fmt::format("the stream is damaged in front of byte {}: {}", bytes_, why));
  };
  if (length == 0 || length > kMaxFrameBytes || stored_length == 0 || stored_length > length)
    return damaged(fmt::format("a frame says that it has {} of {} bytes", stored_length, length));
  std::string frame(length, '\0');
  const MutableByteSpan room(reinterpret_cast<std::uint8_t*>(frame.data()), frame.size());
  if (stored_length == length) {
    DEDUPFS_TRY(read_exactly(room));
  } else {
    ByteBuffer stored(stored_length);
    DEDUPFS_TRY(read_exactly(stored));
    if (const auto decoded = zstd().decode(stored, room); !decoded) return damaged(decoded.error().message());
  }
  chain_ = next_chain(chain_, room);
  if (!std::ranges::equal(chain_, chain)) return damaged("a checksum differs");
  return frame;
}

Result<void> FrameReader::read_exactly(MutableByteSpan room) {
  while (!room.empty()) {
    DEDUPFS_ASSIGN(const std::size_t count, source_(room));
    if (count == 0)
      return Error{ErrorCode::kIo, fmt::format("the stream ends early, behind byte {}: the sender failed, or the "
                                               "connection broke",
                                               bytes_)};
    bytes_ += count;
    room = room.subspan(count);
  }
  return {};
}

}  // namespace dedupfs::transfer
