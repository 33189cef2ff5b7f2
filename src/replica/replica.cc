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

// One a minute for eight years, none of which was ever deleted.
constexpr std::size_t kMostHeads = 4 << 20;
// Longer ones are not read beside others.
constexpr std::size_t kShortHeadBytes = 256 << 10;

Result<FoundHead> found_head(const Bucket& bucket, std::uint64_t sequence, ByteSpan bytes) {
  auto head = decode_head(bytes);
  if (!head) return in_bucket(bucket, sequence, head.error());
  if (head->sequence != sequence)
    return in_bucket(bucket, sequence, corruption(fmt::format("it is head {}", head->sequence)));
  return FoundHead{.head = std::move(*head), .sha256 = sha256_of(bytes), .bytes = bytes.size()};
}

}  // namespace

Result<std::vector<std::uint64_t>> list_heads(Bucket& bucket) {
  std::vector<std::uint64_t> sequences;
  DEDUPFS_TRY(bucket.list(std::string(kHeadPrefix), "", [&](const Bucket::Object& object) -> Result<void> {
    const auto sequence = parse_head_object(object.name);
    if (!sequence || *sequence == 0) return {};
    if (sequences.size() == kMostHeads) return corruption(bucket.name() + ": the listing of its heads has no end");
    sequences.push_back(*sequence);
    return {};
  }));
  std::ranges::sort(sequences);
  return sequences;
}

Result<FoundHead> read_head(Bucket& bucket, std::uint64_t sequence) {
  DEDUPFS_ASSIGN(const ByteBuffer bytes, read_object(bucket, head_object(sequence), kMaxHeadBytes));
  return found_head(bucket, sequence, bytes);
}

Result<void> visit_heads(Bucket& bucket, const std::vector<std::uint64_t>& sequences,
                         const std::function<Result<void>(FoundHead)>& visit) {
  std::vector<std::optional<ByteBuffer>> read(sequences.size());  // nothing: a long one
  const auto missing = [&](std::uint64_t sequence) {
    return in_bucket(bucket, sequence, corruption("it is missing, and a later head needs it"));
  };
  TaskGroup reads(read.size(), read.size(), "dedupfs-get");
  for (std::size_t i = 0; i < read.size(); ++i)
    DEDUPFS_TRY(reads.submit(1, [&, &slot = read[i], sequence = sequences[i]]() -> Result<void> {
      ByteBuffer bytes(kShortHeadBytes + 1);
      const auto length = bucket.read(head_object(sequence), 0, bytes);
      if (!length) return length.error().code() == ErrorCode::kNotFound ? missing(sequence) : length.error();
      if (*length == bytes.size()) return {};
      bytes.resize(*length);
      slot = std::move(bytes);
      return {};
    }));
  DEDUPFS_TRY(reads.finish());
  // One after the other: in memory a head is larger than in the bucket.
  for (std::size_t i = 0; i < read.size(); ++i) {
    auto found = read[i] ? found_head(bucket, sequences[i], *read[i]) : read_head(bucket, sequences[i]);
    if (!found) return found.error().code() == ErrorCode::kNotFound ? missing(sequences[i]) : found.error();
    read[i].reset();
    DEDUPFS_TRY(visit(std::move(*found)));
  }
  return {};
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
    DEDUPFS_TRY(visit_heads(bucket, next, [&](FoundHead found) { return advance(replica, std::move(found)); }));
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
  if (replica.files.size() > ListLimits().paths || replica.full_bytes + replica.change_bytes > 2 * kMaxHeadBytes)
    return corruption(fmt::format("the list of files is too long at {}", head_object(next.head.sequence)));
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
