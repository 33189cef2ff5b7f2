#include "fs/transactions/transactions.h"

#include <utility>

#include "base/crash_point.h"
#include "base/guarded.h"

namespace dedupfs {
namespace {

// Operations wait for a commit when all groups together take more than so many times group_bytes.
constexpr std::uint64_t kMaxGroups = 4;
// During a commit, the batch that is written holds the changes of the group a second time.
constexpr std::uint64_t kCopiesOfAFrozenGroup = 2;
constexpr std::uint64_t kChangesBetweenLooks = 64;

}  // namespace

Transactions::Transactions(Volume& volume, Writability& writability, GroupSource& source, const Limits& limits)
    : volume_(volume), metadata_(volume.metadata()), writability_(writability), source_(source), limits_(limits) {}

Transactions::~Transactions() = default;

Result<void> Transactions::start(Followers followers) {
  followers_ = std::move(followers);
  // The reserve of inode numbers must be durable before the first is given away.
  DEDUPFS_TRY(commit_group());
  crash_point("mount.committed");
  committer_ = std::make_unique<Committer>(
      limits_.commit_interval, Committer::Duties{.has_changes = [this] { return has_changes(); },
                                                 .prepare = [this] { source_.store(); },
                                                 .commit = [this] { return commit_group(); },
                                                 .background_step = [this] { return followers_.clean_up(); },
                                                 .now_and_then = [this] { followers_.now_and_then(); }});
  committer_->request_background_step();
  return {};
}

Result<void> Transactions::finish() {
  is_last_ = true;
  committer_->stop();
  return commit_group();
}

std::uint64_t Transactions::open_group_bytes() const {
  return metadata_.open_bytes() + volume_.chunks().open_bytes();
}

// Requests an early commit when the open group grows large, and waits for one when it is far too large. The open group becomes
// the frozen one, so it may take half of the cap at most.
void Transactions::throttle() {
  if (++changes_ % kChangesBetweenLooks != 0) return;
  const std::uint64_t open = open_group_bytes();
  const std::uint64_t most = kMaxGroups * limits_.group_bytes;
  if (open > most / kCopiesOfAFrozenGroup || open + kCopiesOfAFrozenGroup * frozen_bytes_ > most) {
    (void)committer_->commit();  // callers that need the error get it from their own commits
  } else if (open > limits_.group_bytes) {
    committer_->request_commit();
  }
}

bool Transactions::has_changes() const {
  return !metadata_.open_is_empty() || volume_.chunks().has_changes() || source_.has_changes() ||
         metadata_.has_frozen() || commit_hook_.is_wanted();
}

std::uint64_t Transactions::pending_bytes() const {
  // A snapshot may need the old values of a commit's changes as well.
  const std::size_t copies = volume_.snapshots().preservation() ? 2 : 1;
  return source_.waiting_bytes() + volume_.chunks().waiting_bytes() + copies * metadata_.open_bytes() +
         volume_.chunks().open_bytes();
}

Result<void> Transactions::sync(std::chrono::milliseconds patience) {
  if (volume_.read_only()) return {};
  DEDUPFS_TRY(writability_.check_not_aborted());
  return committer_->commit(patience);
}

Result<void> Transactions::check_stored() const {
  if (std::optional<Error> error = source_.store_error()) return std::move(*error);
  return {};
}

Transactions::AtEnd Transactions::sync_with(CommitHook::Task task) {
  const MutexLock turn(hook_mutex_);
  commit_hook_.want(std::move(task));
  AtEnd end;
  end.synced = sync();
  end.done = commit_hook_.take_result();
  return end;
}

void Transactions::request_commit() {
  if (committer_) committer_->request_commit();
}

void Transactions::request_prepare() {
  if (committer_) committer_->request_prepare();
}

void Transactions::request_clean_up() {
  if (committer_) committer_->request_background_step();
}

// Some data found no room on the disk or in memory, or needs something that lies elsewhere and does not come now. A group without them
// would be a state that never existed. So the group stays open, and ends when that has passed.
std::optional<Error> Transactions::obstacle() const {
  std::optional<Error> error = source_.store_error();
  const auto is = [&](ErrorCode code) { return error && error->code() == code; };
  const bool passes = is(ErrorCode::kNoSpace) || is(ErrorCode::kNoMemory) || is(ErrorCode::kBusy);
  return passes ? error : std::nullopt;
}

Result<void> Transactions::commit_group() {
  return guarded([this]() -> Result<void> {
    if (const std::optional<Error> reason = writability_.abort_reason()) return *reason;
    if (metadata_.has_frozen()) DEDUPFS_TRY(commit_volume());  // the rest of an earlier commit that failed
    DEDUPFS_TRY(end_group());
    return commit_volume();
  });
}

// If memory runs out in here, the group stays open, and a later attempt ends it.
Result<void> Transactions::end_group() {
  const QuiesceGate::Closure closure(gate_);
  const auto stopped = source_.stop_storing();
  source_.store();  // a file that cannot be stored stays dirty and keeps its error; the others are stored
  // The gate waited for running operations. One of them may have ended halfway.
  if (const auto reason = writability_.abort_reason()) return *reason;
  if (const auto reason = obstacle()) return *reason;
  source_.put_records();
  try {
    commit_hook_.run([this] {
      source_.put_counters(is_last_);
      const std::uint64_t bytes = open_group_bytes();
      volume_.freeze();
      frozen_bytes_ = bytes;
    });
  } catch (const std::exception&) {
    if (commit_hook_.is_wanted())
      writability_.abort({ErrorCode::kNoMemory, "memory ran out in the middle of a change"});
    throw;
  }
  crash_point("commit.frozen");
  return {};
}

Result<void> Transactions::commit_volume() {
  Result<void> committed = volume_.commit();
  if (committed) frozen_bytes_ = 0;
  if (committed && !volume_.snapshots().deleted().empty()) request_clean_up();
  // Each mount also commits changes that do not come from users.
  followers_.after_commit(committed && changes_ != 0);
  if (committed || failure_of(committed.error().code()) == CommitFailure::kMayBeRetried) return committed;
  writability_.abort(committed.error());
  return committed;
}

}  // namespace dedupfs
