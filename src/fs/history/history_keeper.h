// Keeps the history of a mounted volume: it takes a sample when the volume is mounted, each hour, and at the unmount, if something
// changed since the one before. So a volume that nobody changes is left alone.
//
// Counting walks over the metadata. So it takes place in at most a hundredth of the time, on a thread of low priority, and ends when the
// volume is unmounted. The sample of the unmount has counts if that takes less than HistorySettings::patience. Samples without counts have the
// size on disk. If even that takes the unmount longer than size_patience, there is none: the unmount does not wait.
//
// Threads:   every function from any thread, except take_last().
// Ownership: the volume and what the host refers to must outlive it; stop(), or the destructor, ends its thread.
// Failure:   logged: a sample is left out. A clock before 1970 gives none.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/periodic_thread.h"
#include "base/result.h"
#include "fs/format/history_records.h"
#include "fs/history/sampling.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct HistoryHost {
  std::function<std::uint64_t()> changes;          // how many there were since the volume was mounted
  std::function<Result<void>()> commit;            // what was changed before it was called
  std::function<void(const HistorySample&)> keep;  // in the open group
  VisitNewest visit_newest;
};

struct HistorySettings {
  std::function<std::int64_t()> unix_seconds;  // nothing: the clock of the system
  std::chrono::milliseconds interval = std::chrono::hours(1);
  std::chrono::milliseconds patience = std::chrono::seconds(2);       // at the unmount
  std::chrono::milliseconds size_patience = std::chrono::seconds(3);  // after that
};

class HistoryKeeper {
 public:
  HistoryKeeper(Volume& volume, HistoryHost host, HistorySettings settings);

  void stop() { thread_.stop(); }
  // The sample of the unmount: call it after stop(), when no change runs any more, and commit what it kept.
  void take_last();

 private:
  using Clock = std::chrono::steady_clock;

  void sample_in_background();
  // Keeps a sample: with counts if `go_on` lets it count to the end, otherwise without them if `wanted` lets it measure to the end.
  void sample(const GoOn& go_on, const GoOn& wanted);
  std::optional<HistorySample> counted_sample(std::int64_t now, const GoOn& go_on);
  std::int64_t unix_seconds() const;
  bool is_unchanged() const { return sampled_changes_ == host_.changes(); }
  Result<void> check_wanted() const;

  Volume& volume_;
  const HistoryHost host_;
  const HistorySettings settings_;
  // Of the thread, and of take_last() after its end. None: no sample has the present state.
  std::optional<std::uint64_t> sampled_changes_;
  Clock::time_point no_count_before_{};
  PeriodicThread thread_;  // last, so that it ends before what it uses
};

}  // namespace dedupfs
