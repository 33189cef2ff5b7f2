// Ships a volume that is in use: every so often, when somebody asks, and at the end.
//
// Threads:   a thread of its own. Every function from any thread.
// Ownership: the volume must outlive it.
// Failure:   in the background it is logged once, and tried again after the lag. A volume that is fenced is shipped no more, unless
//            somebody asks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/go_on.h"
#include "base/mutex.h"
#include "replica/eviction/container_evictor.h"
#include "replica/open_bucket.h"
#include "replica/remote_file.h"
#include "replica/shipper.h"
#include "store/volume/volume.h"

namespace dedupfs {

class BackgroundShipper {
 public:
  struct Settings {
    std::chrono::milliseconds lag = std::chrono::minutes(1);  // 0: only when it is asked
    std::chrono::hours grace{24};
    std::chrono::milliseconds between_collections = std::chrono::hours(1);
    // What containers may take on this machine: others are evicted when the bucket has them. 0: all stay.
    std::uint64_t cache_bytes = 0;
    // What of containers may be lacking in the bucket before writers wait. 0: no limit.
    std::uint64_t most_lacking_bytes = 0;
    std::chrono::milliseconds retry = std::chrono::seconds(5);  // after a failure, while room is wanted
    Parallel parallel;
    OpenBucket open = open_bucket;
    // Another machine writes there. Called once, on the thread that found it.
    std::function<void(const Error&)> when_fenced = [](const Error&) {};
  };
  struct Status {
    RemoteAddress where;
    std::uint64_t epoch = 0;
    bool is_fenced = false;
    bool is_copy = false;  // of what is there, and nothing is shipped
    bool is_shipping = false;
    std::uint64_t sequence = 0;  // of the newest head that it knows; 0: none yet
    // When the state was captured that the bucket has. Nothing: none of this mount yet.
    std::optional<std::chrono::system_clock::time_point> captured;
    std::optional<Shipper::Shipped> shipped;  // what the last ship that succeeded had to do
    std::uint64_t lacking_bytes = 0;          // of containers, which the bucket has not got
    std::uint64_t most_lacking_bytes = 0;     // as in Settings
    std::uint64_t waiting_writers = 0;        // until less is lacking
    bool are_writers_refused = false;         // they have waited in vain
    std::uint64_t shipped_bytes = 0;          // in this mount
    EvictedContainers::Status evicted;        // containers of which most is in the bucket only
    BucketRequests requests;                  // of this mount, those for evicted containers, too
    std::chrono::seconds counted{0};          // for so long
    std::uint64_t tries = 0;                  // that have ended, well or not
    std::optional<std::string> failure;       // of the last try; nothing: it succeeded
  };

  // Of a volume that is a copy of what the bucket has, and is not shipped there. Nothing: it is none.
  static std::optional<Status> status_of_copy(const Volume& volume);

  // Makes all that is written durable in the volume.
  using Commit = std::function<Result<void>()>;
  // Null: the volume has no bucket, or is a copy that does not write there. kCorruption: remote.json is damaged. kUnsupported: the disk
  // cannot evict.
  static Result<std::unique_ptr<BackgroundShipper>> start(Volume& volume, Commit commit, Settings settings);
  ~BackgroundShipper();
  BackgroundShipper(const BackgroundShipper&) = delete;
  BackgroundShipper& operator=(const BackgroundShipper&) = delete;

  // Ships now what was written before the call. `go_on` may end it.
  Result<Shipper::Shipped> ship_now(const GoOn& go_on);
  // The same in the background. When status() has so many tries, it is done. `grace`: then what was dropped longer ago is deleted at once.
  std::uint64_t ship_soon(std::optional<std::chrono::hours> grace = {});
  // Returns when the bucket has what was durable in the volume before the call. Those who wait share a ship. The error of the first try
  // that began after the call; kInterrupted if the thread ends; at once if the volume is fenced.
  Result<void> await_shipped();

  // ---- the limit on what is lacking. Whoever lets writers wait for it asks, and tells.
  struct Room {
    std::uint64_t bytes = 0;      // that may be stored
    bool is_making_more = false;  // it ships, or is about to, and the store takes it
  };
  // What was there at the start does not count if it is not known what the bucket has of it. From half of the limit on, it ships at once.
  // Costs a system call for each container that may be lacking.
  Room room();
  // Ships at once, and after a failure soon again, until it succeeds.
  void want_room();
  void note_waiting(bool begins);
  // A writer gets no room: what to tell him. It is logged until there is room again. kReadOnly if the volume is fenced, otherwise kNoSpace.
  Error refuse();

  // Ends the thread, and what it is shipping. ship_now() still works.
  void stop();
  Status status() const;
  // Cheap, unlike status().
  std::string address() const;
  std::uint64_t shipped_bytes() const;

 private:
  BackgroundShipper(Volume& volume, Commit commit, Settings settings, RemoteRecord record,
                    std::shared_ptr<BackingFolder> on_disk, std::unique_ptr<ContainerEvictor> evictor);

  void run();
  Result<Shipper::Shipped> ship(const GoOn& go_on) DEDUPFS_EXCLUDES(shipping_, mutex_);
  Result<Shipper::Shipped> capture_and_ship() DEDUPFS_REQUIRES(shipping_);
  Result<void> open_shipper() DEDUPFS_REQUIRES(shipping_);
  void collect() DEDUPFS_REQUIRES(shipping_);
  Result<void> go_on() DEDUPFS_EXCLUDES(asking_);  // as who ships now says, on each thread that works for him
  void evict_surplus() DEDUPFS_REQUIRES(shipping_);
  void note(const Result<Shipper::Shipped>& shipped, std::uint64_t this_try) DEDUPFS_EXCLUDES(mutex_);
  void note_shipped(const Shipper::Shipped& shipped, std::chrono::system_clock::time_point captured,
                    ShippedContainers containers) DEDUPFS_REQUIRES(shipping_) DEDUPFS_EXCLUDES(mutex_);
  void note_room() DEDUPFS_REQUIRES(mutex_);
  std::uint64_t lacking_bytes(const ShippedContainers& there) const DEDUPFS_EXCLUDES(mutex_, sizes_);
  std::vector<std::uint32_t> numbers_from(std::uint32_t first) const;
  std::uint64_t container_bytes(BackingFolder& folder, std::uint32_t number) const DEDUPFS_EXCLUDES(sizes_);

  Volume& volume_;
  const Commit commit_;
  const Settings settings_;
  const std::shared_ptr<BackingFolder> on_disk_;
  const std::shared_ptr<EvictedContainers> evicted_;  // null: none can be on that disk
  std::atomic<bool> stopping_ = false;

  Mutex shipping_ DEDUPFS_ACQUIRED_BEFORE(mutex_);  // one at a time
  RemoteRecord record_ DEDUPFS_GUARDED_BY(shipping_);
  std::optional<std::chrono::hours> this_grace_ DEDUPFS_GUARDED_BY(shipping_);  // that was asked for with this try
  Mutex asking_;
  GoOn go_on_ DEDUPFS_GUARDED_BY(asking_);  // of who ships now
  std::unique_ptr<Bucket> bucket_ DEDUPFS_GUARDED_BY(shipping_);
  const std::shared_ptr<BucketRequestMeter> requests_ = std::make_shared<BucketRequestMeter>();
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<Shipper> shipper_ DEDUPFS_GUARDED_BY(shipping_);
  const std::unique_ptr<ContainerEvictor> evictor_ DEDUPFS_GUARDED_BY(shipping_);  // null: all stay
  std::chrono::steady_clock::time_point next_collection_ DEDUPFS_GUARDED_BY(shipping_);
  bool are_deletions_refused_ DEDUPFS_GUARDED_BY(shipping_) = false;  // so that this is logged once

  mutable Mutex mutex_;
  bool is_asked_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::optional<std::chrono::hours> asked_grace_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t begun_tries_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t shipped_try_ DEDUPFS_GUARDED_BY(mutex_) = 0;     // the last that succeeded, counted as begun_tries_
  std::uint64_t failed_try_ DEDUPFS_GUARDED_BY(mutex_) = 0;      // the last that did not
  std::optional<Error> try_failure_ DEDUPFS_GUARDED_BY(mutex_);  // of it
  Status status_ DEDUPFS_GUARDED_BY(mutex_);
  ShippedContainers there_ DEDUPFS_GUARDED_BY(mutex_);    // nothing, as long as that is not known
  ShippedContainers counted_ DEDUPFS_GUARDED_BY(mutex_);  // the same, but then all that was here at the start
  std::chrono::steady_clock::time_point next_wait_log_ DEDUPFS_GUARDED_BY(mutex_){};
  bool wants_room_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool has_put_ DEDUPFS_GUARDED_BY(mutex_) = false;  // the try that runs: something, so the store answers
  mutable Mutex sizes_ DEDUPFS_ACQUIRED_AFTER(mutex_);
  mutable std::map<std::uint32_t, std::uint64_t> full_sizes_
      DEDUPFS_GUARDED_BY(sizes_);  // of containers that do not grow
  ConditionVariable wakeup_;       // stopping_ changes with mutex_
  ConditionVariable try_ended_;    // of those who wait in await_shipped()
  std::thread thread_;
};

}  // namespace dedupfs
