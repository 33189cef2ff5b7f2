#include "fs/history/history_keeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/guarded.h"
#include "fs/history/history_series.h"

namespace dedupfs {
namespace {

constexpr int kPartOfTheTime = 100;

// The last mount has kept one, and only programs without a mount may have changed something since.
bool has_sample_of_present(Volume& volume) {
  if (!volume.was_closed()) return false;
  const auto first = volume.metadata().list(Family::kCounters, kHistoryPrefix, kEndOfHistory, 1);
  return first && !first->empty();
}

GoOn for_at_most(std::chrono::milliseconds patience) {
  return [end = std::chrono::steady_clock::now() + patience]() -> Result<void> {
    if (std::chrono::steady_clock::now() > end) return Error{ErrorCode::kInterrupted, "it would take too long"};
    return {};
  };
}

}  // namespace

HistoryKeeper::HistoryKeeper(Volume& volume, HistoryHost host, HistorySettings settings)
    : volume_(volume), host_(std::move(host)), settings_(std::move(settings)) {
  if (has_sample_of_present(volume_)) sampled_changes_ = host_.changes();
  thread_.start({.name = "history",
                 .doing = "taking a sample for the history",
                 .interval = settings_.interval,
                 .is_low_priority = true},
                [this] { sample_in_background(); });
}

std::int64_t HistoryKeeper::unix_seconds() const {
  if (settings_.unix_seconds) return settings_.unix_seconds();
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<void> HistoryKeeper::check_wanted() const {
  if (thread_.is_stopping()) return Error{ErrorCode::kInterrupted, "the volume is being unmounted"};
  return {};
}

void HistoryKeeper::sample_in_background() {
  const GoOn wanted = [this] { return check_wanted(); };
  sample(wanted, wanted);
}

void HistoryKeeper::take_last() {
  survive("taking the last sample for the history", [this] {
    if (is_unchanged() || !host_.commit()) return;  // the last commit has the same failure, and reports it
    no_count_before_ = {};
    sample(for_at_most(settings_.patience), for_at_most(settings_.patience + settings_.size_patience));
  });
}

void HistoryKeeper::sample(const GoOn& go_on, const GoOn& wanted) {
  const std::int64_t now = unix_seconds();
  if (is_unchanged() || now < 0 || now > HistorySample::kMaxUnixSeconds) return;
  const std::uint64_t changes = host_.changes();
  const auto counted = Clock::now() < no_count_before_ ? std::nullopt : counted_sample(now, go_on);
  const auto taken = counted ? *counted : sample_without_counts(volume_, now, wanted);
  if (!taken) return;  // if the thread was stopped, take_last() takes it
  host_.keep(*taken);
  sampled_changes_ = changes;
}

std::optional<HistorySample> HistoryKeeper::counted_sample(std::int64_t now, const GoOn& go_on) {
  const auto begin = Clock::now();
  auto taken = take_sample(volume_, now, host_.visit_newest, go_on);
  no_count_before_ = Clock::now() + kPartOfTheTime * (Clock::now() - begin);
  if (taken) return *taken;
  if (taken.error().code() != ErrorCode::kInterrupted)
    spdlog::warn("history: the volume could not be counted: {}", taken.error().message());
  return std::nullopt;
}

}  // namespace dedupfs
