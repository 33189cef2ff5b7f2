// Ships crash images of a volume (store/volume/capture.h) to a bucket: first the pieces of files that are not there yet, then a head that
// names all. Objects are written once, so what was shipped before stays whole, whatever happens.
//
// The names of pieces have the epoch of who shipped them and the head that they were shipped for. So no name is used again once that head
// exists, and two writers never share one. That is why collect() can delete what no head names, even if its writer lost its place since.
//
// Fencing: a head that somebody else has put ends the shipping for good. Whoever wants to write to the bucket instead of another machine
// takes over: with a new epoch, and a head that says so. From then on the head of the other one fails.
//
// Threads:   one at a time; is_fenced() from any thread. Pieces are put by several threads at once.
// Ownership: the bucket and the store of positions must outlive it.
// Failure:   kFenced below: another machine writes to the bucket. Every other failure leaves what was shipped, and ship() may be
//            called again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/go_on.h"
#include "base/mutex.h"
#include "base/task_group.h"
#include "remote/bucket.h"
#include "replica/head.h"
#include "replica/parallel.h"
#include "replica/replica.h"
#include "store/volume/capture.h"

namespace dedupfs {

// Another machine writes to the bucket, or this volume is not the one that did last.
inline constexpr ErrorCode kFenced = ErrorCode::kStale;

// What a volume knows of its place in the bucket. Kept with the volume, so that a copy of it, or an old state, does not go on where it
// is not the newest.
struct RemotePosition {
  struct Known {
    std::uint64_t sequence = 0;
    Sha256Digest sha256{};

    bool operator==(const Known&) const = default;
  };

  std::uint64_t epoch = 0;    // 0: it only reads
  std::optional<Known> head;  // the newest that it knows to be there
  // All that it tried to put after that: one of them may be there, also later.
  std::vector<Known> tried;

  // Whether it put this head, or may have.
  bool knows(const Known& other) const;
  bool operator==(const RemotePosition&) const = default;
};

class Shipper {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  using Save = std::function<Result<void>(const RemotePosition&)>;
  struct Settings {
    UuidText volume;
    Save save;  // makes a position durable
    Clock now = std::chrono::system_clock::now;
    GoOn go_on = [] { return Result<void>(); };
    std::function<void(std::uint64_t bytes)> when_put = [](std::uint64_t) {};  // one call at a time, from any thread
    std::uint64_t piece_bytes = kMaxPieceBytes;
    Parallel parallel;
  };
  struct Shipped {
    std::uint64_t sequence = 0;    // of the head that has it; 0: nothing was shipped yet
    std::uint64_t objects = 0;     // that were put, without the head
    std::uint64_t bytes = 0;       // of them
    std::uint64_t head_bytes = 0;  // 0: nothing had changed
  };

  // The first epoch of an empty place. kExists: somebody else's volume is there.
  static Result<RemotePosition> attach(Bucket& bucket, const std::string& who);
  // The next epoch, and a head that has it, for the volume that knows the newest head. kFenced: it does not; kBusy: somebody else
  // took over at the same time.
  static Result<RemotePosition> take_over(Bucket& bucket, RemotePosition position, const std::string& who,
                                          const Settings& settings);
  struct Claim {
    RemotePosition position;
    Replica replica;
  };
  // The same for a volume that does not know the newest head, whatever another machine puts meanwhile: from then on, its heads fail. The
  // volume must become what the replica has, and only then may the position be kept with it. Nothing is saved here.
  static Result<Claim> claim(Bucket& bucket, const std::string& who, const Settings& settings);

  Shipper(Bucket& bucket, RemotePosition position, Settings settings)
      : bucket_(bucket), position_(std::move(position)), settings_(std::move(settings)) {}

  Result<Shipped> ship(Capture& capture);
  bool is_fenced() const { return is_fenced_; }
  // As of the last ship(). Nothing before.
  const std::optional<Replica>& replica() const { return replica_; }
  const RemotePosition& position() const { return position_; }

  struct Collected {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    std::uint64_t heads = 0;
    // What the store refused to delete, or was not asked for because it had refused so many: it keeps objects until a date (object lock), or
    // the keys may not delete. The next collection tries again.
    std::uint64_t refused_objects = 0;
    std::uint64_t refused_bytes = 0;
    std::string refusal;  // the first one

    bool operator==(const Collected&) const = default;
  };
  // Deletes the objects that no head names, or only heads that were replaced longer ago than `grace`; then the heads that nobody needs.
  // Readers of a head have so long to finish. After ship(). Heads are read the first time; later ones are known.
  Result<Collected> collect(std::chrono::seconds grace);

 private:
  enum class HeadPut { kMade, kEarlierTryIsThere };
  // What is needed of a head to know which objects it names that the one before does not.
  struct PastHead {
    std::int64_t unix_seconds = 0;
    std::vector<std::string> objects;
  };
  static RemotePosition::Known known_of(const Replica& replica) {
    return {.sequence = replica.head.sequence, .sha256 = replica.sha256};
  }
  static PastHead past_head_of(std::int64_t unix_seconds, const RemoteFiles& changed);

  Result<void> load();
  Result<HeadPut> attempt(Capture& capture);
  std::uint64_t next_sequence() const { return replica_ ? replica_->head.sequence + 1 : 1; }
  const RemoteFile* known(const std::string& path) const;
  Result<RemoteFile> ship_file(Capture& capture, const CapturedFile& file, TaskGroup& puts);
  Result<RemotePiece> put_piece(const std::string& path, std::uint64_t offset, ByteBuffer bytes, TaskGroup& puts);
  Result<void> put_object(const std::string& object, const ObjectSource& source) DEDUPFS_EXCLUDES(put_);
  Result<void> list_there() DEDUPFS_REQUIRES(put_);
  Result<bool> is_there(const std::string& object, std::uint64_t bytes) DEDUPFS_EXCLUDES(put_);
  void forget_there(bool is_listed) DEDUPFS_EXCLUDES(put_);
  Head next_head(std::vector<std::string> dropped, RemoteFiles changed) const;
  Result<HeadPut> put_changes(const Head& changes);
  Result<HeadPut> put_head(const Head& head, const std::string& bytes);
  Error fenced(const std::string& why);
  Result<void> read_past_heads(const std::vector<std::uint64_t>& sequences, std::int64_t window_begin);
  Result<std::vector<Bucket::Object>> list_unneeded(const std::string& prefix,
                                                    const std::unordered_set<std::string>& needed);

  Bucket& bucket_;
  RemotePosition position_;
  const Settings settings_;
  std::optional<Replica> replica_;
  bool is_loaded_ = false;  // replica_ is what the bucket has
  std::atomic<bool> is_fenced_ = false;
  std::map<std::uint64_t, PastHead> past_heads_;  // by sequence: since the grace began, as far as they are known
  Mutex put_;
  // Pieces for the next head that are in the bucket already, with their sizes.
  std::map<std::string, std::uint64_t> there_ DEDUPFS_GUARDED_BY(put_);
  bool is_listed_ DEDUPFS_GUARDED_BY(put_) = false;  // those that another process has put are in it, too
  Shipped report_ DEDUPFS_GUARDED_BY(put_);
};

}  // namespace dedupfs
