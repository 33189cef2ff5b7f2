// The scrub: reads everything that the index refers to, in the background, with a limit on its speed. So damage is found while
// the content is still elsewhere and can heal it. A damaged chunk is put into DamagedChunks, as after a failed read: the next
// writer of its content heals it.
//
// It verifies the checksums of all regions with chunks that are or were live. It reads them from the disk even if the operating
// system has them in memory. It also verifies that each chunk is where the index says, and the checksums of the index's own
// tables, of both superblocks and of the newest checkpoint.
//
// A scrub that an unmount or a crash interrupts goes on at the next mount, near where it was.
//
// Threads:   every function from any thread.
// Ownership: the volume must outlive it; the destructor interrupts it.
// Failure:   damage is counted and logged, naming container and offset; see ScrubStatus.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/rate_limit.h"
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

// Where a scrub is that has not ended.
struct ScrubPosition {
  std::uint64_t next_chunk =
      0;  // everything with a lower id is checked, and the index, superblocks and checkpoint; 0: nothing is
  std::uint64_t bytes_per_second = 0;
  ScrubFindings so_far;

  bool operator==(const ScrubPosition&) const = default;
};

struct ScrubStatus {
  bool running = false;
  double progress = 0;                             // of the running scrub, 0 to 1
  std::uint64_t bytes_per_second = 0;              // its limit; 0: none
  std::optional<std::int64_t> seconds_left;        // of the running scrub, an estimate, once there is one
  std::optional<double> checked_bytes_per_second;  // of the running scrub, once it has checked something
  std::optional<ScrubFindings> current;            // of the running scrub
  std::optional<ScrubFindings> last;               // of the last scrub that ended, perhaps at an earlier mount
};

inline constexpr std::string_view kLastScrubCounter = "last_scrub";  // in Family::kCounters
std::string encode_scrub_findings(const ScrubFindings& findings);
Result<ScrubFindings> decode_scrub_findings(std::string_view encoded);

inline constexpr std::string_view kScrubPositionCounter = "scrub_position";
std::string encode_scrub_position(const ScrubPosition& position);
Result<ScrubPosition> decode_scrub_position(std::string_view encoded);

// Both run on the thread of the scrub, and make something durable.
struct ScrubHost {
  std::function<void(const ScrubFindings&)> ended;  // also that the scrub has no position any more
  std::function<void(const ScrubPosition&)> note_position = [](const ScrubPosition&) {};
};

// The findings of the scrub that ended last. Nothing also if the record does not parse: the next scrub replaces it.
std::optional<ScrubFindings> last_scrub_of(const Database& database);

class Scrubber {
 public:
  static constexpr std::uint64_t kDefaultBytesPerSecond = 100 << 20;

  Scrubber(Volume& volume, ScrubHost host);
  ~Scrubber();

  // kBusy: a scrub is running already. 0: as fast as the disk is.
  Result<void> start(std::uint64_t bytes_per_second);
  // Changes the limit of the running scrub.
  void set_rate(std::uint64_t bytes_per_second);
  void stop();  // waits until it has
  // Goes on with a scrub that was interrupted, if there is one.
  void resume();
  // As stop(), but the scrub goes on after the next resume(), also of another Scrubber.
  void interrupt();
  // interrupt() waits: what its host does is to end at once.
  bool is_interrupted() const;
  // stop() or interrupt() waits: it is to end soon.
  bool is_stopping() const;
  ScrubStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;

  void begin(const ScrubPosition& position) DEDUPFS_REQUIRES(mutex_);
  void end_thread(bool is_interruption);
  void run(std::uint64_t first_chunk);
  Result<void> check_all(std::uint64_t first_chunk);
  void check_index();
  void check_checkpoint();
  Result<void> check_extents(std::uint64_t first_chunk);
  void check_extent(const ChunkExtent& extent);
  void note_other_damage(const Error& error);
  void note_progress(const ChunkExtent& extent, bool is_new_region, double end);
  // False: it is to end.
  bool pace();
  ScrubPosition position() const;

  Volume& volume_;
  const ScrubHost host_;

  mutable Mutex mutex_;
  ConditionVariable wakeup_;
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool interrupting_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool running_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::uint64_t next_chunk_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  double progress_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  double begun_at_ DEDUPFS_GUARDED_BY(mutex_) = 0;               // the progress when this run of it began
  std::uint64_t begun_at_bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // that were checked then
  Clock::time_point begun_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::time_point noted_ DEDUPFS_GUARDED_BY(mutex_);  // when its position was made durable last
  RateLimit limit_ DEDUPFS_GUARDED_BY(mutex_);          // of checked bytes
  ScrubFindings current_ DEDUPFS_GUARDED_BY(mutex_);
  std::optional<ScrubFindings> last_ DEDUPFS_GUARDED_BY(mutex_);
  std::thread thread_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
