// Makes of a stream what the sender has: in a folder of a volume, and then as a snapshot of that volume, with the name, the date and the
// hold of the sender's.
//
// The folder belongs to the stream. What the receiver's users have beside it stays. In the root of a volume, it is those names that the
// sender's root has.
//
// A stream is not trusted: it names inodes that it has made or found below the folder, and no others.
//
// Threads:   free functions; the filesystem may be in use.
// Memory:    some frames, and about 100 bytes for each inode that the stream names.
// Failure:   kExists for a snapshot that is there, and for names in the way; kNotFound without the base; kBusy if somebody else has changed
//            the folder since the base was received, or while the stream came; kCorruption for a damaged stream; errors of the source, the watcher and the volume. What was
//            made stays, durable: Interrupted::token lets a sender go on there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/stream_header.h"

namespace dedupfs::transfer {

struct ReceiveRequest {
  std::string folder;         // in the volume; empty: its root
  std::string snapshot_name;  // empty: as the sender's
};

struct ReceiveTotals {
  std::string snapshot_name;
  std::uint64_t stream_bytes = 0;
  std::uint64_t content_bytes = 0;  // of the files that the stream is about; 0: not known yet
  std::uint64_t done_bytes = 0;     // of these
  std::uint64_t names = 0;
  std::uint64_t inodes = 0;
};

// Called often. An Error ends it.
using WatchReceive = std::function<Result<void>(const ReceiveTotals& so_far)>;

// What a cache of names, attributes and content must forget.
using ForgetChanged = std::function<void(const std::vector<ChangedName>& changed)>;

Result<ReceiveTotals> receive(
    Filesystem& filesystem, const ReceiveRequest& request, const StreamSource& source, const WatchReceive& watch,
    const ForgetChanged& forget = [](const std::vector<ChangedName>&) {});

// What was received in that folder last. Nothing: no stream was.
Result<std::optional<ReceivedState>> find_received(Filesystem& filesystem, const std::string& folder);

}  // namespace dedupfs::transfer
