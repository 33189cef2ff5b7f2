// What Shipper::collect() deletes.
//
// A writer that lost its place may still be here, with a list of what to delete. It does no harm: it deletes only what its own last head
// does not name, of its own or earlier epochs, and of that head or earlier ones. Whoever came after it names what that head names, and what
// was shipped later.
#include <unordered_set>

#include "replica/shipper.h"

namespace dedupfs {
namespace {

void add_objects(const RemoteFiles& files, std::unordered_set<std::string>& objects) {
  for (const auto& [path, file] : files) {
    std::uint64_t offset = 0;
    for (const RemotePiece& piece : file.pieces) {
      objects.insert(piece_object(path, offset, piece));
      offset += piece.bytes;
    }
  }
}

}  // namespace

Result<Shipper::Collected> Shipper::collect(std::chrono::seconds grace) {
  Collected collected;
  if (!is_loaded_ || !replica_ || is_fenced_) return collected;
  const std::int64_t window_begin =
      std::chrono::duration_cast<std::chrono::seconds>(settings_.now().time_since_epoch()).count() - grace.count();
  DEDUPFS_ASSIGN(const auto sequences, list_heads(bucket_));
  if (sequences.empty() || sequences.back() != replica_->head.sequence)
    return collected;  // the next ship() says what happened

  // Back to the head that was the newest when the time began for which readers may rely on what they see.
  std::vector<FoundHead> later;
  auto sequence = sequences.rbegin();
  for (;; ++sequence) {
    DEDUPFS_TRY(settings_.go_on());
    DEDUPFS_ASSIGN(FoundHead found, read_head(bucket_, *sequence));
    const bool is_first = found.head.unix_seconds <= window_begin || std::next(sequence) == sequences.rend();
    if (is_first) break;
    later.push_back(std::move(found));
  }
  DEDUPFS_ASSIGN(const Replica first, load_replica_at(bucket_, *sequence));
  std::unordered_set<std::string> needed;
  add_objects(first.files, needed);
  for (const FoundHead& found : later) add_objects(found.head.files, needed);

  for (const std::string_view prefix : kPiecePrefixes) {
    std::vector<Bucket::Object> unneeded;
    DEDUPFS_TRY(bucket_.list(std::string(prefix), "", [&](const Bucket::Object& object) -> Result<void> {
      const auto origin = parse_piece_object(object.name);
      if (origin && origin->epoch <= position_.epoch && origin->sequence <= replica_->head.sequence &&
          !needed.contains(object.name))
        unneeded.push_back(object);
      return settings_.go_on();
    }));
    for (const Bucket::Object& object : unneeded) {
      DEDUPFS_TRY(settings_.go_on());
      DEDUPFS_TRY(bucket_.remove(object.name));
      ++collected.objects;
      collected.bytes += object.size;
    }
  }
  for (const std::uint64_t old : sequences) {
    if (old >= first.head.full) break;
    DEDUPFS_TRY(bucket_.remove(head_object(old)));
    ++collected.heads;
  }
  return collected;
}

}  // namespace dedupfs
