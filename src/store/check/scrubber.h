// The scrub: reads everything that the index refers to, in the background, with a limit on its speed. So damage is found while
// the content is still elsewhere and can heal it. A damaged chunk is put into DamagedChunks, as after a failed read: the next
// writer of its content heals it.
//
// It verifies the checksums of all regions with chunks that are or were live. It reads them from the disk even if the operating
// system has them in memory. It also verifies that each chunk is where the index says, and the checksums of the index's own
// tables, of both superblocks and of the newest checkpoint.
//
// Threads:   every function from any thread.
// Ownership: the volume must outlive it; the destructor stops it.
// Failure:   damage is counted and logged, naming container and offset; see ScrubStatus.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"
#include "store/chunks/chunk_index.h"
#include "store/volume/volume.h"

namespace dedupfs {

// The findings of one scrub, of all of it or so far.
struct ScrubFindings {
  std::int64_t started_unix_seconds = 0;
  std::int64_t ended_unix_seconds = 0;  // 0: it is running
  std::uint64_t checked_bytes = 0;      // of containers
  std::uint64_t damaged_chunks = 0;
  std::uint64_t other_damage = 0;  // of index, superblock, checkpoint; the log names it
  bool complete = false;           // not stopped early

  bool sound() const { return damaged_chunks == 0 && other_damage == 0; }
  bool operator==(const ScrubFindings&) const = default;
};

struct ScrubStatus {
  bool running = false;
  double progress = 0;                       // of the running scrub, 0 to 1
  std::optional<std::int64_t> seconds_left;  // of the running scrub, an estimate, once there is one
  std::optional<ScrubFindings> current;      // of the running scrub
  std::optional<ScrubFindings> last;         // of the last scrub that ended, perhaps at an earlier mount
};

inline constexpr std::string_view kLastScrubCounter = "last_scrub";  // in Family::kCounters
std::string encode_scrub_findings(const ScrubFindings& findings);
Result<ScrubFindings> decode_scrub_findings(std::string_view encoded);

// The findings of the scrub that ended last. Nothing also if the record does not parse: the next scrub replaces it.
std::optional<ScrubFindings> last_scrub_of(const Database& database);

class Scrubber {
 public:
  static constexpr std::uint64_t kDefaultBytesPerSecond = 100 << 20;

  // `ended` runs on a thread of the scrubber's, to make the findings durable.
  Scrubber(Volume& volume, std::function<void(const ScrubFindings&)> ended);
  ~Scrubber();

  // kBusy: a scrub is running already. 0: as fast as the disk is.
  Result<void> start(std::uint64_t bytes_per_second);
  void stop();  // waits until it has
  ScrubStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run(std::uint64_t bytes_per_second);
  Result<void> check_all(std::uint64_t bytes_per_second);
  void check_index();
  void check_checkpoint();
  Result<void> check_extents(std::uint64_t bytes_per_second);
  void check_extent(const ChunkExtent& extent);
  void note_other_damage(const Error& error);
  // False: it is to end.
  bool pace(std::uint64_t bytes_per_second);

  Volume& volume_;
  const std::function<void(const ScrubFindings&)> ended_;

  mutable Mutex mutex_;
  ConditionVariable wakeup_;
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool running_ DEDUPFS_GUARDED_BY(mutex_) = false;
  double progress_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  Clock::time_point begun_ DEDUPFS_GUARDED_BY(mutex_);
  ScrubFindings current_ DEDUPFS_GUARDED_BY(mutex_);
  std::optional<ScrubFindings> last_ DEDUPFS_GUARDED_BY(mutex_);
  std::thread thread_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
