// Writes a snapshot as a stream: all of it, or what changed since an older one that the receiver has.
//
// What the receiver has got, it is told by place, not by content: ranges of files of the older snapshot, and of files that this stream
// has made. So the receiver's chunker, codec and key are its own affair. A chunk that is stored as a delta travels as one, if the
// receiver has its sources.
//
// Threads:   free function; the filesystem may be in use. The snapshots should be held, or not deleted meanwhile.
// Memory:    a number for each inode that is sent, some hundred bytes for each name that changed since the older snapshot, and
//            ChunkPlaces.
// Failure:   kNotFound for a snapshot that is not there; kInvalidArgument if `since` is not older; errors of the volume, the sink and
//            the observer. What the sink got until then is worth something: the receiver knows how far it got.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/byte_stream.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/frames.h"
#include "fs/transfer/send_totals.h"
#include "fs/transfer/stream_header.h"

namespace dedupfs::transfer {

inline constexpr int kDefaultLevel = 6;  // of zstd

struct SendRequest {
  std::string snapshot;               // its name
  std::optional<std::string> since;   // the name of an older one
  std::optional<ResumeToken> resume;  // then the two above may be left out
  int level = kDefaultLevel;
  std::size_t frame_bytes = kFrameBytes;
};

// Called often. An Error ends it.
using WatchSend = std::function<Result<void>(const SendTotals& so_far)>;

Result<SendTotals> send(Filesystem& filesystem, const SendRequest& request, const StreamSink& sink,
                        const WatchSend& watch);

}  // namespace dedupfs::transfer
