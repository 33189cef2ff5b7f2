#include "fs/namespace/filesystem.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "base/crash_point.h"
#include "fs/namespace/filesystem_state.h"
#include "fs/statistics/statistics.h"

namespace dedupfs {
namespace {

constexpr std::size_t kCachedInodes = 16 * 1024;
constexpr std::size_t kMaxFlushers = 8;
// At the end: an unmount does not take much longer.
constexpr std::chrono::seconds kMaxDefragmentationTime{20};

}  // namespace

Timestamp Timestamp::now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)};
}

FilesystemState::FilesystemState(std::unique_ptr<Volume> its_volume, const FilesystemOptions& its_options)
    : volume(std::move(its_volume)),
      options(its_options),
      metadata(volume->metadata()),
      space(
          *volume->folder(), [this] { return pending_bytes(); }, [this] { (void)sync(); }),
      volume_size([this] { return disk_bytes_of(*volume); }),
      budget(options.dirty_bytes, [this] { committer->request_prepare(); }),
      table(metadata, kCachedInodes),
      flushers(std::make_unique<ThreadPool>(
          std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMaxFlushers), "dedupfs-flush")) {}

FilesystemState::~FilesystemState() = default;

Result<void> FilesystemState::start() {
  DEDUPFS_ASSIGN(numbers, InodeNumbers::load(metadata));
  DEDUPFS_TRY(ensure_root());
  orphan_reaper = std::make_unique<OrphanReaper>(
      metadata, table, *numbers, [this](std::uint64_t bytes) { volume->chunks().dropped().add(bytes); });
  snapshot_reaper = std::make_unique<SnapshotReaper>(
      volume->database(), metadata, [this](Family family, std::string_view value) { note_dropped(family, value); });
  add_snapshots_directory();
  scrubber = std::make_unique<Scrubber>(*volume, [this](const ScrubFindings& findings) {
    if (!check_writable()) return;
    const Change change(*this);
    metadata.put(Family::kCounters, kLastScrubCounter, encode_scrub_findings(findings));
  });
  if (volume->read_only()) return {};
  DEDUPFS_TRY(orphan_reaper->load());
  checkpointer = std::make_unique<Checkpointer>(*volume, options.checkpoint_interval, [this](std::uint64_t bytes) {
    const auto room = space.room();
    return room && room->available_bytes >= bytes;
  });
  const bool holds_anything = numbers->in_use() > 1;
  if (holds_anything && checkpointer->is_behind()) checkpointer->note_commit();
  // The reserve of inode numbers must be durable before the first is given away.
  DEDUPFS_TRY(commit_group());
  crash_point("mount.committed");
  committer = std::make_unique<Committer>(options.commit_interval,
                                          Committer::Duties{.has_changes = [this] { return has_changes(); },
                                                            .prepare = [this] { flush_all(); },
                                                            .commit = [this] { return commit_group(); },
                                                            .background_step = [this] { return background_step(); }});
  committer->request_background_step();
  reclaimer = make_reclaimer();
  if (options.defragment_percent != 0) defragmenter = make_defragmenter();
  return {};
}

// A new volume has no root yet: the store knows nothing of directories. Mounted read-only it is empty all the same.
Result<void> FilesystemState::ensure_root() {
  const Result<InodePtr> root = get_directory(kRootInode);
  if (root) return {};
  if (root.error().code() != ErrorCode::kStale) return root.error();
  DEDUPFS_ASSIGN(const std::vector<KeyValue> others, metadata.list(Family::kInodes, {}, {}, 1));
  const InodeNumber number = numbers->allocate();
  if (!others.empty() || number != kRootInode)
    return Error{ErrorCode::kCorruption, "the root directory (inode 1) is missing"};
  Inode created(number);
  Attributes& attributes = created.record.attributes;
  attributes.inode = attributes.parent = number;
  attributes.mode = S_IFDIR | 0755;
  attributes.uid = ::geteuid();
  attributes.gid = ::getegid();
  attributes.links = 2;
  attributes.next_cookie = kFirstCookie;
  attributes.atime = attributes.mtime = attributes.ctime = attributes.btime = Timestamp::now();
  put_record(created);
  return {};
}

Result<std::unique_ptr<Filesystem>> Filesystem::open(std::unique_ptr<Volume> volume, const FilesystemOptions& options) {
  auto state = std::make_unique<FilesystemState>(std::move(volume), options);
  if (const auto started = state->start(); !started) {
    if (started.error().code() != ErrorCode::kCorruption) return started.error();
    return Error{ErrorCode::kCorruption, started.error().message() + "; run fsck.dedupfs -y " +
                                             state->volume->path().string() + " to repair the volume"};
  }
  return std::unique_ptr<Filesystem>(new Filesystem(std::move(state)));
}

Filesystem::Filesystem(std::unique_ptr<FilesystemState> state) : state_(std::move(state)) {}

Filesystem::~Filesystem() {
  if (const Result<void> closed = close(); !closed)
    spdlog::error("closing {}: {}", state_->volume->path().string(), closed.error().message());
}

Result<void> Filesystem::close(const ClosingGoesOn& goes_on) {
  FilesystemState& state = *state_;
  state.scrubber->stop();
  if (state.reclaimer) state.reclaimer->stop_for_good();
  if (state.defragmenter) state.defragmenter->finish(kMaxDefragmentationTime);
  if (state.closed.exchange(true) || state.volume->read_only()) return {};
  state.committer->stop();
  DEDUPFS_TRY(state.commit_group());
  crash_point("unmount.committed");
  if (const auto finished = state.checkpointer->finish(goes_on); !finished) {
    state.missing_checkpoint = finished.error();
    spdlog::error(
        "the checkpoint of the last state was not written: {}. The volume is whole, but if its index is lost before "
        "the next "
        "checkpoint, fsck.dedupfs can only bring back the names of an older one. The next unmount takes one",
        finished.error().message());
  }
  const std::lock_guard lock(state.errors_mutex);
  if (state.flush_error) return *state.flush_error;  // what could not be stored is lost now
  return {};
}

const std::optional<Error>& Filesystem::missing_checkpoint() const {
  return state_->missing_checkpoint;
}

Result<SpaceReport> Filesystem::space() {
  DEDUPFS_ASSIGN(const SpaceGuard::Room room, state_->space.room());
  const std::uint64_t taken_bytes = state_->volume_size.bytes();
  return SpaceReport{taken_bytes + room.available_bytes, room.available_bytes, state_->numbers->in_use()};
}

Scrubber& Filesystem::scrubber() {
  return *state_->scrubber;
}

Reclaimer& Filesystem::reclaimer() {
  return *state_->reclaimer;
}

Volume& Filesystem::volume() {
  return *state_->volume;
}

std::uint64_t Filesystem::dirty_bytes() const {
  return state_->pending_bytes();
}

}  // namespace dedupfs
