// What Shipper::collect() deletes.
//
// A writer that lost its place may still be here, with a list of what to delete. It does no harm: it deletes only what its own last head
// does not name, of its own or earlier epochs, and of that head or earlier ones. Whoever came after it names what that head names, and what
// was shipped later.
#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/task_group.h"
#include "replica/shipper.h"

namespace dedupfs {
namespace {

// Who is refused so often asks no more: a store that keeps objects for a month would be asked for each of them in each collection.
constexpr std::uint64_t kMostRefusals = 1000;

// Of one kind. More are left to the next collection, so that no listing fills the memory.
constexpr std::size_t kMostUnneeded = 256 << 10;

// Deletes several objects at once. That the store refuses one is no failure, but counted: it may keep objects until a date.
class Deletions {
 public:
  Deletions(Bucket& bucket, const Parallel& parallel)
      : bucket_(bucket), tasks_(parallel.requests, parallel.memory, "dedupfs-delete") {}

  Result<void> remove(const Bucket::Object& object, bool is_head) {
    {
      const MutexLock lock(mutex_);
      if (refusals_ >= kMostRefusals) {
        note_refused(object);
        return {};
      }
    }
    return tasks_.submit(0, [this, object, is_head]() -> Result<void> {
      auto removed = bucket_.remove(object.name);
      if (!removed && removed.error().code() != ErrorCode::kAccessDenied) return removed;
      const MutexLock lock(mutex_);
      if (!removed) {
        ++refusals_;
        if (collected_.refusal.empty()) collected_.refusal = removed.error().message();
        note_refused(object);
      } else if (is_head) {
        ++collected_.heads;
      } else {
        ++collected_.objects;
        collected_.bytes += object.size;
      }
      return {};
    });
  }
  // All that was asked for is done.
  Result<void> finish() { return tasks_.finish(); }
  Shipper::Collected collected() const {
    const MutexLock lock(mutex_);
    return collected_;
  }

 private:
  void note_refused(const Bucket::Object& object) DEDUPFS_REQUIRES(mutex_) {
    ++collected_.refused_objects;
    collected_.refused_bytes += object.size;
  }

  Bucket& bucket_;
  mutable Mutex mutex_;
  std::uint64_t refusals_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  Shipper::Collected collected_ DEDUPFS_GUARDED_BY(mutex_);
  TaskGroup tasks_;  // ends first: it uses what is above
};

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
    DEDUPFS_TRY(visit_heads(bucket_, unknown, [this](const FoundHead& found) -> Result<void> {
      past_heads_.insert_or_assign(found.head.sequence, past_head_of(found.head.unix_seconds, found.head.files));
      return {};
    }));
    oldest = past_heads_.at(*std::prev(sequence)).unix_seconds;
  } while (sequence != sequences.rend() && oldest > window_begin);
  return {};
}

Result<std::vector<Bucket::Object>> Shipper::list_unneeded(const std::string& prefix,
                                                           const std::unordered_set<std::string>& needed) {
  std::vector<Bucket::Object> unneeded;
  const auto listed = bucket_.list(prefix, "", [&](const Bucket::Object& object) -> Result<void> {
    if (unneeded.size() == kMostUnneeded) return Error{ErrorCode::kTooLarge, "the next collection goes on"};
    const auto origin = parse_piece_object(object.name);
    if (origin && origin->epoch <= position_.epoch && origin->sequence <= replica_->head.sequence &&
        !needed.contains(object.name))
      unneeded.push_back(object);
    return settings_.go_on();
  });
  if (!listed && unneeded.size() < kMostUnneeded) return listed.error();
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

  std::vector<Bucket::Object> unneeded;
  for (const std::string_view prefix : kPiecePrefixes) {
    DEDUPFS_ASSIGN(auto found, list_unneeded(std::string(prefix), needed));
    std::ranges::move(found, std::back_inserter(unneeded));
  }
  // The oldest first: a store that keeps each object for some time lets go of them in this order.
  std::ranges::stable_sort(unneeded, {}, &Bucket::Object::modified);
  Deletions deletions(bucket_, settings_.parallel);
  for (const Bucket::Object& object : unneeded) {
    DEDUPFS_TRY(settings_.go_on());
    DEDUPFS_TRY(deletions.remove(object, /*is_head=*/false));
  }
  DEDUPFS_TRY(deletions.finish());  // a head goes after what only it needs
  for (const std::uint64_t old : sequences) {
    if (old >= before.head.full) break;
    DEDUPFS_TRY(deletions.remove({.name = head_object(old), .size = 0, .modified = {}}, /*is_head=*/true));
  }
  DEDUPFS_TRY(deletions.finish());
  return deletions.collected();
}

}  // namespace dedupfs
