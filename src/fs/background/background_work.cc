#include "fs/background/background_work.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "fs/background/idle_memory.h"

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kReclaimLookInterval{10};
// Without a request for so long, a volume is idle.
constexpr std::chrono::seconds kIdleFor{5};
// With less than this share of the disk free, a reclaim is due earlier and frees more.
constexpr double kShortOfSpace = 0.1;
// The limit at the end of a mount, so that an unmount does not take much longer.
constexpr std::chrono::seconds kMaxDefragmentationTime{20};
// Who stops a scrub waits so long for the names of damaged files.
constexpr std::chrono::seconds kNamingAfterStop{2};

}  // namespace

BackgroundWork::BackgroundWork(Volume& volume, const InodeTable& table, const InodeNumbers& numbers,
                               const Writability& writability, Transactions& transactions, SpaceGuard& space,
                               CleanUp& clean_up, const Activity& activity, const Settings& settings)
    : volume_(volume),
      table_(table),
      numbers_(numbers),
      writability_(writability),
      transactions_(transactions),
      space_(space),
      clean_up_(clean_up),
      activity_(activity),
      settings_(settings),
      references_(volume.database(), numbers),
      scrubber_(volume, scrub_host()) {}

// A scrub knows no files.
std::optional<DamagedFileNames> BackgroundWork::name_and_log_damaged_files() {
  constexpr std::size_t kMostNames = 1000;
  const auto synced = transactions_.sync();  // the list of damaged chunks
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> stopped;
  const auto go_on = [&]() -> Result<void> {
    if (scrubber_.is_interrupted())
      return Error{ErrorCode::kInterrupted, "the volume is being unmounted; fsck.dedupfs names them"};
    if (!stopped && scrubber_.is_stopping()) stopped = Clock::now();
    if (stopped && Clock::now() - *stopped > kNamingAfterStop)
      return Error{ErrorCode::kInterrupted, "the scrub was stopped; the next scrub names them, and fsck.dedupfs"};
    return {};
  };
  auto found =
      synced ? name_damaged_files(volume_.database(), kMostNames, go_on) : Result<DamagedFileNames>(synced.error());
  if (!found) {
    spdlog::error("scrub: the damaged files cannot be named: {}", found.error().message());
    return std::nullopt;
  }
  for (const std::string& name : found->names) spdlog::error("scrub: damaged: {}", printable(name));
  if (found->more != 0) spdlog::error("scrub: and {} files more", found->more);
  return std::move(*found);
}

void BackgroundWork::keep_damaged_files(std::optional<DamagedFileNames> files) {
  const MutexLock lock(mutex_);
  damaged_files_ = std::move(files);
}

std::optional<DamagedFileNames> BackgroundWork::damaged_files() const {
  const MutexLock lock(mutex_);
  return damaged_files_;
}

ScrubHost BackgroundWork::scrub_host() {
  return {.ended =
              [this](const ScrubFindings& findings) {
                keep_damaged_files(std::nullopt);
                if (!transactions_.check_writable()) return;
                {
                  const Transactions::Change change(transactions_);
                  volume_.metadata().put(Family::kCounters, kLastScrubCounter, encode_scrub_findings(findings));
                  volume_.metadata().erase(Family::kCounters, kScrubPositionCounter);
                }
                keep_damaged_files(findings.damaged_chunks == 0 ? DamagedFileNames() : name_and_log_damaged_files());
              },
          .note_position =
              [this](const ScrubPosition& position) {
                if (!transactions_.check_writable()) return;
                const Transactions::Change change(transactions_);
                volume_.metadata().put(Family::kCounters, kScrubPositionCounter, encode_scrub_position(position));
              }};
}

void BackgroundWork::start_checkpoints() {
  checkpointer_ = std::make_unique<Checkpointer>(volume_, settings_.checkpoint_interval, [this](std::uint64_t bytes) {
    const auto room = space_.room();
    return room && room->available_bytes >= bytes;
  });
  const bool holds_anything = numbers_.in_use() > 1;
  if (holds_anything && checkpointer_->is_behind()) checkpointer_->note_commit();
}

void BackgroundWork::start() {
  due_reclaims_ =
      std::make_unique<DueReclaims>(volume_, settings_.settle,
                                    DueReclaims::Host{.is_writable = [this] { return !writability_.is_aborted(); },
                                                      .is_idle = [this] { return is_idle(); },
                                                      .is_short_of_space = [this] { return is_short_of_space(); }});
  reclaimer_ = std::make_unique<Reclaimer>(
      volume_, reclaim_host(),
      Reclaimer::Settings{.look_interval = kReclaimLookInterval,
                          .due = [this](ReclaimGoal goal) { return due_reclaims_->find(goal); },
                          .is_idle = [this] { return is_idle(); },
                          .yielding_cpu_percent = settings_.settle_cpu_percent});
  scrubber_.resume();
  if (settings_.defragment_percent != 0)
    defragmenter_ = std::make_unique<Defragmenter>(volume_, settings_.defragment_percent, defragmenter_host());
}

void BackgroundWork::after_commit(bool is_new_state) {
  give_back_idle_memory_now_and_then();
  if (is_new_state) checkpointer_->note_commit();
}

void BackgroundWork::stop() {
  scrubber_.interrupt();
  if (reclaimer_) reclaimer_->stop_for_good();
  if (defragmenter_) defragmenter_->finish(kMaxDefragmentationTime);
}

Result<void> BackgroundWork::finish_checkpoint(const Checkpoints::GoesOn& goes_on) {
  return checkpointer_->finish(goes_on);
}

ReclaimHost BackgroundWork::reclaim_host() {
  return {
      .in_group =
          [this](const std::function<Result<void>()>& change) {
            const Transactions::Change within(transactions_);
            return change();
          },
      .commit =
          [this] { return transactions_.sync(table_.has_dirty() ? settings_.patience : std::chrono::milliseconds(0)); },
      .await_deletions = [this](const auto& check_cancelled) { return clean_up_.await(check_cancelled); },
      .before_erasing = [this] { checkpointer_->take_now(); },
      .references = [this](const auto& snapshot, const auto& visit) { return references_.visit(snapshot, visit); },
      .newest_references = [this](const auto& visit,
                                  const GoOn& go_on) { return references_.visit_newest(visit, go_on); },
      .gather_percent = settings_.gather_percent,
      .far_garbage = worth_fetching(settings_.payback_months),
      .least_age = settings_.least_container_age,
      .available_bytes = [this] { return space_.metadata_room(); }};
}

// Defragmentation makes garbage, so it does not run while space is short.
DefragmenterHost BackgroundWork::defragmenter_host() {
  return {.in_group =
              [this](const std::function<Result<void>()>& change) {
                const Transactions::Change within(transactions_);
                return change();
              },
          .commit = [this](std::chrono::milliseconds patience) { return transactions_.sync(patience); },
          .patience = settings_.patience,
          .may_defragment = [this] { return !writability_.is_aborted() && !is_short_of_space(); }};
}

bool BackgroundWork::is_short_of_space() {
  const auto room = space_.room();
  return room && static_cast<double>(room->available_bytes) < kShortOfSpace * static_cast<double>(room->total_bytes);
}

bool BackgroundWork::is_idle() const {
  return settings_.settle == SettleMode::kAlways || activity_.is_idle_for(kIdleFor);
}

}  // namespace dedupfs
