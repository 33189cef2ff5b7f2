// What a bucket has of a volume, as its newest head says.
//
// Threads: values; free functions are safe from any thread.
// Failure: as Bucket; kCorruption names the head that is missing, damaged, or not the successor of the one before it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "remote/bucket.h"
#include "replica/head.h"

namespace dedupfs {

struct Replica {
  Head head;              // the newest, without its lists
  Sha256Digest sha256{};  // of that
  RemoteFiles files;
  // What the next head goes by, to decide whether it has the full list.
  std::uint64_t full_bytes = 0;
  std::uint64_t change_bytes = 0;  // of the heads since then
};

// A head as the bucket has it.
struct FoundHead {
  Head head;
  Sha256Digest sha256{};
  std::uint64_t bytes = 0;
};

// The sequence numbers of the heads that are there, ascending. kCorruption if there are more than a volume gets.
Result<std::vector<std::uint64_t>> list_heads(Bucket& bucket);
// kNotFound if it is not there.
Result<FoundHead> read_head(Bucket& bucket, std::uint64_t sequence);
// Each of them, in their order. They are read side by side, but for long ones. kCorruption names one that is not there.
Result<void> visit_heads(Bucket& bucket, const std::vector<std::uint64_t>& sequences,
                         const std::function<Result<void>(FoundHead)>& visit);
// Nothing if there is no head. Reads those from the last full list on, so many at once.
Result<std::optional<Replica>> load_replica(Bucket& bucket, std::size_t parallel = 1);
// The same as of one head.
Result<Replica> load_replica_at(Bucket& bucket, std::uint64_t sequence, std::size_t parallel = 1);
// Goes on from a replica to its next head.
Result<void> advance(Replica& replica, FoundHead next);

// Reads a piece and compares it with its digest. A piece that was damaged on the way is read again once.
Result<ByteBuffer> read_piece(Bucket& bucket, const std::string& object, const RemotePiece& piece);

}  // namespace dedupfs
