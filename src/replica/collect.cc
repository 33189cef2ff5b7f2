// What Shipper::collect() deletes.
//
// A writer that lost its place may still be here, with a list of what to delete. It does no harm: it deletes only what its own last head
// does not name, of its own or earlier epochs, and of that head or earlier ones. Whoever came after it names what that head names, and what
// was shipped later.
#include <iterator>
#include <unordered_set>

#include "base/task_group.h"
#include "replica/shipper.h"

namespace dedupfs {
namespace {

template <class Add>
void for_each_object(const RemoteFiles& files, const Add& add) {
  for (const auto& [path, file] : files) {
    std::uint64_t offset = 0;
    for (const RemotePiece& piece : file.pieces) {
      add(piece_object(path, offset, piece));
      offset += piece.bytes;
    }
  }
}

}  // namespace

Shipper::PastHead Shipper::past_head_of(std::int64_t unix_seconds, const RemoteFiles& changed) {
  PastHead past{.unix_seconds = unix_seconds, .objects = {}};
  for_each_object(changed, [&past](std::string object) { past.objects.push_back(std::move(object)); });
  return past;
}

// Back to the head that was the newest when the time began for which readers may rely on what they see.
Result<void> Shipper::read_past_heads(const std::vector<std::uint64_t>& sequences, std::int64_t window_begin) {
  auto sequence = sequences.rbegin();
  std::int64_t oldest = 0;  // of those that are known
  do {
    DEDUPFS_TRY(settings_.go_on());
    std::vector<std::uint64_t> unknown;
    for (std::size_t i = 0; i < settings_.parallel.requests && sequence != sequences.rend(); ++i, ++sequence)
      if (!past_heads_.contains(*sequence)) unknown.push_back(*sequence);
    DEDUPFS_ASSIGN(const auto heads, read_heads(bucket_, unknown));
    for (const FoundHead& found : heads)
      past_heads_.insert_or_assign(found.head.sequence, past_head_of(found.head.unix_seconds, found.head.files));
    oldest = past_heads_.at(*std::prev(sequence)).unix_seconds;
  } while (sequence != sequences.rend() && oldest > window_begin);
  return {};
}

Result<std::vector<Bucket::Object>> Shipper::list_unneeded(const std::string& prefix,
                                                           const std::unordered_set<std::string>& needed) {
  std::vector<Bucket::Object> unneeded;
  DEDUPFS_TRY(bucket_.list(prefix, "", [&](const Bucket::Object& object) -> Result<void> {
    const auto origin = parse_piece_object(object.name);
    if (origin && origin->epoch <= position_.epoch && origin->sequence <= replica_->head.sequence &&
        !needed.contains(object.name))
      unneeded.push_back(object);
    return settings_.go_on();
  }));
  return unneeded;
}

Result<Shipper::Collected> Shipper::collect(std::chrono::seconds grace) {
  if (!is_loaded_ || !replica_ || is_fenced_) return Collected();
  const std::int64_t window_begin =
      std::chrono::duration_cast<std::chrono::seconds>(settings_.now().time_since_epoch()).count() - grace.count();
  DEDUPFS_ASSIGN(const auto sequences, list_heads(bucket_));
  if (sequences.empty() || sequences.back() != replica_->head.sequence)
    return Collected();  // the next ship() says what happened
  DEDUPFS_TRY(read_past_heads(sequences, window_begin));
  auto first = sequences.rbegin();
  while (std::next(first) != sequences.rend() && past_heads_.at(*first).unix_seconds > window_begin) ++first;
  past_heads_.erase(past_heads_.begin(), past_heads_.lower_bound(*first));

  DEDUPFS_ASSIGN(const Replica before, load_replica_at(bucket_, *first, settings_.parallel.requests));
  std::unordered_set<std::string> needed;
  for_each_object(before.files, [&needed](std::string object) { needed.insert(std::move(object)); });
  for (const auto& [sequence, past] : past_heads_) needed.insert(past.objects.begin(), past.objects.end());

  Collected collected;
  TaskGroup deletions(settings_.parallel.requests, settings_.parallel.memory, "dedupfs-delete");
  for (const std::string_view prefix : kPiecePrefixes) {
    DEDUPFS_ASSIGN(const auto unneeded, list_unneeded(std::string(prefix), needed));
    for (const Bucket::Object& object : unneeded) {
      DEDUPFS_TRY(settings_.go_on());
      DEDUPFS_TRY(deletions.submit(0, [this, name = object.name] { return bucket_.remove(name); }));
      ++collected.objects;
      collected.bytes += object.size;
    }
  }
  DEDUPFS_TRY(deletions.finish());  // a head goes after what only it needs
  for (const std::uint64_t old : sequences) {
    if (old >= before.head.full) break;
    DEDUPFS_TRY(deletions.submit(0, [this, old] { return bucket_.remove(head_object(old)); }));
    ++collected.heads;
  }
  DEDUPFS_TRY(deletions.finish());
  return collected;
}

}  // namespace dedupfs
