// The middle layer of a file's content: the stream at its end. Appended bytes go to the chunk store while the writer goes on,
// and into the recipe as results come back. There is a stream while somebody appends.
//
// Threads:   as ContentParts, by the Exclusive operation; is_open() and pending_bytes() by readers, too.
// Ownership: owns the stream, and the rest as ContentParts. No stream may be left when it is destroyed.
// Failure:   an error of the chunk store stays until end(), which reports it once. Bytes that could not be stored stay
//            readable, and end() makes them dirty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fs/content/content_lock.h"
#include "fs/content/content_parts.h"
#include "fs/content/write_stream.h"

namespace dedupfs {

class TailStream {
 public:
  using Held = ContentLock::Held;

  explicit TailStream(const ContentParts& parts) : parts_(parts) {}

  bool is_open() const { return stream_ != nullptr; }
  std::uint64_t pending_bytes() const { return stream_ ? stream_->end() - stream_->stored_end() : 0; }

  // Whether bytes at `offset` can be appended: the stream has no error, and nothing dirty is behind them.
  bool takes(std::uint64_t offset) const;
  void append(const Held& held, std::uint64_t offset, ByteSpan bytes);
  // The start of the dirty bytes, if they are one extent at the end of the file that is long enough for a stream.
  std::optional<std::uint64_t> worthy_start(const Held& held) const;
  // Starts a stream, which takes over the dirty bytes. They begin at `from`. After an Error they are still dirty, and there is
  // no stream.
  Result<void> start(Held& held, std::uint64_t from);
  // Ends the stream: stores its remaining bytes. Bytes that could not be stored become dirty. No failure loses anything, and
  // the next attempt continues.
  Result<void> end(Held& held);
  // For a deleted inode: waits for the in-flight batches and drops the rest.
  void abandon(Held& held);

 private:
  Result<std::vector<WriteStream::Part>> head(Held& held, std::uint64_t start, std::uint64_t from);
  void land(Result<std::vector<ChunkId>> ids) noexcept;

  const ContentParts parts_;
  std::unique_ptr<WriteStream> stream_;
  std::optional<Error> error_;  // once it is set, all batches stay in the stream, stored or not
};

}  // namespace dedupfs
