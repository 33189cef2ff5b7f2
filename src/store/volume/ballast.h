// Room on the disk that is kept for the next mount: a file of zeros in the volume, VOLUME/ballast.
//
// To open a volume, dedupfs must write. The log of the index, which a crash leaves, becomes tables, and the index gets a new
// manifest. If others have filled the disk meanwhile, there is no room for that. Then nothing could be deleted to make room,
// either. The ballast is as large as the log and a bit more. A mount that finds the disk full gives the ballast up first.
//
// Threads: one at a time.
// Failure: none: the ballast may be smaller, or missing. A volume without ballast is sound.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/backing.h"

namespace dedupfs {

inline constexpr std::string_view kBallastFile = "ballast";

// The bytes of the logs in the folder of an index: 0 if it was closed in good order.
std::uint64_t log_bytes_in(BackingFolder& index);

class Ballast {
 public:
  static constexpr std::uint64_t kMinBytes = 512
                                             << 10;  // beside the log: for the manifest, and for the first deletions

  Ballast(std::shared_ptr<BackingFolder> volume, std::shared_ptr<BackingFolder> index);

  // Keeps as much as the replay of the log needs as it is now. Takes nothing from the reserve of the disk (disk_reserve.h), but
  // for kMinBytes, and of these no more than half of what there is.
  void keep();
  // The same before so much is written to the log. Looks at the disk only now and then.
  void keep_with(std::uint64_t more_log_bytes);
  void keep_least();  // the log is about to go
  // Gives all of it up, where the disk has less left than that. False: nothing has changed.
  bool release_if_scarce();
  // Gives all of it up. False: there was none.
  bool release();
  std::uint64_t bytes() const { return bytes_; }

 private:
  void keep_for(std::uint64_t log_bytes);
  void resize(std::uint64_t bytes);
  Result<void> allocate(std::uint64_t bytes) const;

  const std::shared_ptr<BackingFolder> volume_;
  const std::shared_ptr<BackingFolder> index_;
  std::uint64_t bytes_ = 0;
  std::uint64_t written_since_ = 0;  // to the log, since it was looked at
  bool is_allocated_ = false;        // by this object: a copy of the volume may have it as a hole
};

}  // namespace dedupfs
