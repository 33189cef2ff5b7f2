// Data on a control connection: frames of a length and that many bytes, then an end. docs/control-protocol.md, "Streams", has the
// format.
//
// Threads: one user each.
// Failure: kIo when the other end goes away or breaks the format; the Error of a wait. Neither allocates what a peer names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "mount/control/control_answer.h"
#include "mount/control/outbox.h"

namespace dedupfs {

// No frame is longer. Ours are shorter: one that waits for a slow peer has to leave before an error can follow it.
inline constexpr std::size_t kMaxFrame = 1 << 20;
inline constexpr std::size_t kSentFrame = 64 << 10;
// In place of a length: the data ends here, incomplete.
inline constexpr std::uint32_t kBrokenFrame = 0xffffffff;

enum class FrameEnd { kNone, kClean, kBroken };

// Waits until the socket can go on. An Error ends the transfer.
using AwaitSocket = std::function<Result<void>(int socket)>;

class FrameWriter {
 public:
  // These wait for flush().
  void put_line(std::string_view line) { unsent_.append(line); }
  void put_data(ByteSpan data);  // no more than kSentFrame, and not nothing
  void put_end(FrameEnd end);    // not kNone

  // After an Error, the rest is still there, and may be tried again.
  Result<void> flush(const ControlConnection& connection, const AwaitSocket& await);
  // All of it, in frames.
  Result<void> write(ByteSpan data, const ControlConnection& connection, const AwaitSocket& await);

 private:
  Outbox unsent_;
};

class FrameReader {
 public:
  // At least one byte for the front of `out`, which is not empty; or 0 at either end.
  Result<std::size_t> read(MutableByteSpan out, ControlConnection& connection, const AwaitSocket& await);
  FrameEnd end() const { return end_; }

 private:
  Result<void> begin_frame(ControlConnection& connection, const AwaitSocket& await);

  std::size_t left_ = 0;  // of the frame
  FrameEnd end_ = FrameEnd::kNone;
};

}  // namespace dedupfs
