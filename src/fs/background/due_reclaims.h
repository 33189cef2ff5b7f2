// Which reclaims are due although nobody asks for them.
//
// Threads:   one thread, which asks again and again.
// Ownership: the volume must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "fs/background/settle_mode.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

class DueReclaims {
 public:
  struct Host {
    std::function<bool()> is_writable;
    std::function<bool()> is_idle;
    std::function<bool()> is_short_of_space;
  };

  DueReclaims(Volume& volume, SettleMode settle, Host host);

  std::optional<ReclaimSettings> find(ReclaimGoal goal);

 private:
  std::optional<ReclaimSettings> for_space();
  std::optional<ReclaimSettings> for_garbage();
  std::optional<ReclaimSettings> to_settle();
  bool has_more_outdated_files();

  Volume& volume_;
  const SettleMode settle_;
  const Host host_;
  std::size_t outdated_files_ = 0;  // when a reclaim was last due for them
  // The containers are looked at again when so many bytes are dropped. That takes a read for each, and asking is frequent.
  std::uint64_t dropped_worth_a_look_ = 0;
  std::uint64_t dropped_before_ = 0;
};

}  // namespace dedupfs
