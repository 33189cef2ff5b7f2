#include "replica/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/task_group.h"

namespace dedupfs {
namespace {

Error in_bucket(const Bucket& bucket, std::uint64_t sequence, const Error& error) {
  return error.with(fmt::format("{}/{}", bucket.name(), head_object(sequence)));
}

}  // namespace

Result<std::vector<std::uint64_t>> list_heads(Bucket& bucket) {
  std::vector<std::uint64_t> sequences;
  DEDUPFS_TRY(bucket.list(std::string(kHeadPrefix), "", [&](const Bucket::Object& object) -> Result<void> {
    if (const auto sequence = parse_head_object(object.name); sequence && *sequence != 0)
      sequences.push_back(*sequence);
    return {};
  }));
  std::ranges::sort(sequences);
  return sequences;
}

Result<FoundHead> read_head(Bucket& bucket, std::uint64_t sequence) {
  DEDUPFS_ASSIGN(const ByteBuffer bytes, read_object(bucket, head_object(sequence), kMaxHeadBytes));
  auto head = decode_head(bytes);
  if (!head) return in_bucket(bucket, sequence, head.error());
  if (head->sequence != sequence)
    return in_bucket(bucket, sequence, corruption(fmt::format("it is head {}", head->sequence)));
  return FoundHead{.head = std::move(*head), .sha256 = sha256_of(bytes), .bytes = bytes.size()};
}

Result<std::optional<Replica>> load_replica(Bucket& bucket, std::size_t parallel) {
  DEDUPFS_ASSIGN(const auto sequences, list_heads(bucket));
  if (sequences.empty()) return std::optional<Replica>();
  DEDUPFS_ASSIGN(auto replica, load_replica_at(bucket, sequences.back(), parallel));
  return std::optional(std::move(replica));
}

Result<std::vector<FoundHead>> read_heads(Bucket& bucket, const std::vector<std::uint64_t>& sequences) {
  std::vector<FoundHead> heads(sequences.size());
  TaskGroup reads(heads.size(), heads.size(), "dedupfs-get");
  for (std::size_t i = 0; i < heads.size(); ++i)
    DEDUPFS_TRY(reads.submit(1, [&bucket, &head = heads[i], sequence = sequences[i]]() -> Result<void> {
      auto found = read_head(bucket, sequence);
      if (!found && found.error().code() == ErrorCode::kNotFound)
        return in_bucket(bucket, sequence, corruption("it is missing, and a later head needs it"));
      if (!found) return found.error();
      head = std::move(*found);
      return {};
    }));
  DEDUPFS_TRY(reads.finish());
  return heads;
}

Result<Replica> load_replica_at(Bucket& bucket, std::uint64_t sequence, std::size_t parallel) {
  DEDUPFS_ASSIGN(FoundHead newest, read_head(bucket, sequence));
  const std::uint64_t full = newest.head.full;
  Replica replica;
  for (std::uint64_t number = full; number < sequence;) {
    std::vector<std::uint64_t> next;
    while (next.size() < parallel && number < sequence) next.push_back(number++);
    DEDUPFS_ASSIGN(auto heads, read_heads(bucket, next));
    for (FoundHead& found : heads) DEDUPFS_TRY(advance(replica, std::move(found)));
  }
  DEDUPFS_TRY(advance(replica, std::move(newest)));
  if (replica.head.full != full)
    return in_bucket(bucket, sequence, corruption(fmt::format("it goes by head {}, which is no full list", full)));
  return replica;
}

Result<void> advance(Replica& replica, FoundHead next) {
  const bool begins = replica.head.sequence == 0;
  if (begins && !next.head.is_full())
    return corruption(fmt::format("{} has no full list, and no list goes before", head_object(next.head.sequence)));
  if (!begins && (next.head.sequence != replica.head.sequence + 1 || next.head.previous != replica.sha256 ||
                  next.head.volume != replica.head.volume || next.head.epoch < replica.head.epoch ||
                  (!next.head.is_full() && next.head.full != replica.head.full)))
    return corruption(fmt::format("{} is not the successor of {}", head_object(next.head.sequence),
                                  head_object(replica.head.sequence)));
  apply_changes(next.head, replica.files);
  if (next.head.is_full()) {
    replica.full_bytes = next.bytes;
    replica.change_bytes = 0;
  } else {
    replica.change_bytes += next.bytes;
  }
  replica.head = std::move(next.head);
  replica.head.files.clear();
  replica.head.dropped.clear();
  replica.sha256 = next.sha256;
  return {};
}

Result<ByteBuffer> read_piece(Bucket& bucket, const std::string& object, const RemotePiece& piece) {
  ByteBuffer bytes;
  for (const bool is_last_try : {false, true}) {
    bytes.resize(piece.bytes);
    DEDUPFS_ASSIGN(const std::size_t length, bucket.read(object, 0, bytes));
    bytes.resize(length);
    if (length == piece.bytes && sha256_of(bytes) == piece.sha256) return bytes;
    if (is_last_try) break;
  }
  return corruption(fmt::format("{}/{} is damaged: it is not what its head names", bucket.name(), object));
}

}  // namespace dedupfs
