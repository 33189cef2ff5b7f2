// The locks on the names in directories: whoever looks a name up holds its directory's lock shared, whoever adds or
// removes names holds it exclusively. Directories share a fixed number of locks.
//
// Threads: several directories are locked by one object, which takes the locks in a fixed order; never hold two
// objects.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <shared_mutex>
#include <vector>

#include "fs/format/types.h"

namespace dedupfs {

class NameLocks {
 public:
  using Shared = std::shared_lock<std::shared_mutex>;

  Shared lock_shared(InodeNumber directory) { return Shared(mutexes_[shard_of(directory)]); }

  class Exclusive {
   public:
    Exclusive(NameLocks& locks, std::initializer_list<InodeNumber> directories) {
      std::vector<std::size_t> shards;
      for (const InodeNumber directory : directories) shards.push_back(shard_of(directory));
      std::sort(shards.begin(), shards.end());
      shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
      for (const std::size_t shard : shards) held_.emplace_back(locks.mutexes_[shard]);
    }

   private:
    std::vector<std::unique_lock<std::shared_mutex>> held_;
  };

 private:
  static constexpr std::size_t kShards = 128;
  static std::size_t shard_of(InodeNumber directory) { return directory % kShards; }

  std::array<std::shared_mutex, kShards> mutexes_;
};

}  // namespace dedupfs
