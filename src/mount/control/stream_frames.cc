#include "mount/control/stream_frames.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/coding.h"

namespace dedupfs {
namespace {

std::string length_field(std::uint32_t length) {
  std::string field;
  Encoder(field).u32(length);
  return field;
}

Error peer_error(int number, const ControlConnection& connection) {
  if (number == EPIPE || number == ECONNRESET)
    return {ErrorCode::kIo, fmt::format("process {} closed the connection", connection.peer)};
  return Error::from_errno(number, "control socket");
}

// At least one byte.
Result<std::size_t> receive_some(MutableByteSpan out, ControlConnection& connection, const AwaitSocket& await) {
  if (std::string& received = connection.received; !received.empty()) {
    const std::size_t count = std::min(out.size(), received.size());
    std::memcpy(out.data(), received.data(), count);
    received.erase(0, count);
    return count;
  }
  for (;;) {
    const ssize_t count = ::recv(connection.socket.get(), out.data(), out.size(), 0);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0)
      return Error{ErrorCode::kIo,
                   fmt::format("process {} closed the connection in the middle of the data", connection.peer)};
    if (errno != EAGAIN && errno != EINTR) return peer_error(errno, connection);
    DEDUPFS_TRY(await(connection.socket.get()));
  }
}

}  // namespace

void FrameWriter::put_data(ByteSpan data) {
  unsent_.append(length_field(static_cast<std::uint32_t>(data.size())));
  unsent_.append(text_of(data));
}

void FrameWriter::put_end(FrameEnd end) {
  unsent_.append(length_field(end == FrameEnd::kClean ? 0 : kBrokenFrame));
}

Result<void> FrameWriter::flush(const ControlConnection& connection, const AwaitSocket& await) {
  while (!unsent_.empty()) {
    const std::string_view rest = unsent_.rest();
    const ssize_t sent = ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      unsent_.take(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return peer_error(errno, connection);
    DEDUPFS_TRY(await(connection.socket.get()));
  }
  return {};
}

Result<void> FrameWriter::write(ByteSpan data, const ControlConnection& connection, const AwaitSocket& await) {
  while (!data.empty()) {
    const ByteSpan frame = data.first(std::min(data.size(), kSentFrame));
    put_data(frame);
    DEDUPFS_TRY(flush(connection, await));
    data = data.subspan(frame.size());
  }
  return {};
}

Result<void> FrameReader::begin_frame(ControlConnection& connection, const AwaitSocket& await) {
  std::array<std::uint8_t, 4> field{};
  for (MutableByteSpan rest = field; !rest.empty();) {
    DEDUPFS_ASSIGN(const std::size_t count, receive_some(rest, connection, await));
    rest = rest.subspan(count);
  }
  const std::uint32_t length = Decoder({reinterpret_cast<const std::uint8_t*>(field.data()), field.size()}).u32();
  if (length == 0) end_ = FrameEnd::kClean;
  if (length > kMaxFrame) end_ = FrameEnd::kBroken;
  if (length > kMaxFrame && length != kBrokenFrame)
    return Error{ErrorCode::kIo, fmt::format("process {} sent a frame of {} bytes, but none has more than {}",
                                             connection.peer, length, kMaxFrame)};
  if (end_ == FrameEnd::kNone) left_ = length;
  return {};
}

Result<std::size_t> FrameReader::read(MutableByteSpan out, ControlConnection& connection, const AwaitSocket& await) {
  if (left_ == 0 && end_ == FrameEnd::kNone) DEDUPFS_TRY(begin_frame(connection, await));
  if (end_ != FrameEnd::kNone) return std::size_t{0};
  DEDUPFS_ASSIGN(const std::size_t count, receive_some(out.first(std::min(out.size(), left_)), connection, await));
  left_ -= count;
  return count;
}

}  // namespace dedupfs
