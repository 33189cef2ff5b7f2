#include "fs/transactions/transactions.h"

#include <utility>

#include "base/crash_point.h"
#include "base/guarded.h"

namespace dedupfs {
namespace {

// Groups together take no more than so many times group_bytes: operations wait for a commit otherwise.
constexpr std::uint64_t kMaxGroups = 4;
// While a group is committed, its changes are there once more in the batch that is written.
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
                                                 .background_step = [this] { return followers_.clean_up(); }});
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

// Asks for an early commit when the open group grows large, and waits for one when it is far too large. The open group becomes
// the frozen one: what it may take is bounded by half of the cap.
void Transactions::throttle() {
  if (++changes_ % kChangesBetweenLooks != 0) return;
  const std::uint64_t open = open_group_bytes();
  const std::uint64_t most = kMaxGroups * limits_.group_bytes;
  if (open > most / kCopiesOfAFrozenGroup || open + kCopiesOfAFrozenGroup * frozen_bytes_ > most) {
    (void)committer_->commit();  // whether it failed shows in the commits of those who need to know
  } else if (open > limits_.group_bytes) {
    committer_->request_commit();
  }
}

bool Transactions::has_changes() const {
  return !metadata_.open_is_empty() || volume_.chunks().has_changes() || source_.has_changes() ||
         metadata_.has_frozen() || commit_hook_.is_wanted();
}

std::uint64_t Transactions::pending_bytes() const {
  // What a commit changes may have to be kept for a snapshot, too.
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

// Without what found no room on the disk, or in memory, the group would be no state that existed, and there will be room again:
// it ends then.
std::optional<Error> Transactions::obstacle() const {
  std::optional<Error> error = source_.store_error();
  const bool passes = error && (error->code() == ErrorCode::kNoSpace || error->code() == ErrorCode::kNoMemory);
  return passes ? error : std::nullopt;
}

Result<void> Transactions::commit_group() {
  return guarded([this]() -> Result<void> {
    if (const std::optional<Error> reason = writability_.abort_reason()) return *reason;
    if (metadata_.has_frozen()) DEDUPFS_TRY(commit_volume());  // what an earlier commit could not do
    DEDUPFS_TRY(end_group());
    return commit_volume();
  });
}

// Memory that runs out in here leaves the group open, and a later attempt ends it.
Result<void> Transactions::end_group() {
  const QuiesceGate::Closure closure(gate_);
  const auto stopped = source_.stop_storing();
  source_.store();  // a file that cannot be stored stays dirty and has its error; the rest is not held up by it
  // An operation that the gate waited for may have ended halfway.
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
  // Each mount commits what users have not changed.
  followers_.after_commit(committed && changes_ != 0);
  if (committed || failure_of(committed.error().code()) == CommitFailure::kMayBeRetried) return committed;
  writability_.abort(committed.error());
  return committed;
}

}  // namespace dedupfs
